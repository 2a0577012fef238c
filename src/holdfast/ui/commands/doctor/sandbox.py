"""`holdfast doctor sandbox`: which wall works around commands here, tried, with the remedy where none does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from holdfast.system.confinement.git_folders import LINK_REMEDY, unkept_link
from holdfast.system.confinement.probe import WallChoice, WallProbe, choose_wall, probe_walls
from holdfast.ui.commands.doctor.findings import DoctorFinding

_NAMES = {"bwrap": "bubblewrap", "landlock": "Landlock", "none": "none"}


def examine_sandbox(environ: Mapping[str, str], workspace: Path) -> list[DoctorFinding]:
    """Try each wall, for commands in the workspace, and return the findings. Blocks for a moment."""
    return [*sandbox_findings(probe_walls(environ, str(workspace))), *_workspace(workspace)]


def _workspace(workspace: Path) -> Iterator[DoctorFinding]:
    """Yield what in the workspace keeps commands from being confined where they may write."""
    if why := unkept_link(str(workspace)):
        yield DoctorFinding(name="workspace", level="warn", what=why, todo=LINK_REMEDY)


def sandbox_findings(probes: Sequence[WallProbe]) -> Iterator[DoctorFinding]:
    """Yield a finding for each wall, and one for what the first that works can do. Pure."""
    choice = choose_wall("auto", tuple(probes))
    for each in probes:
        name = _NAMES[each.kind]
        if each.obstacle is None:
            yield DoctorFinding(name=name, level="ok", what=f"{each.version}: ok".removeprefix(": "))
        else:
            # A second wall is only needed where the first does not work.
            needed = choice.kind == "none" or (each.kind == "bwrap" and choice.kind != "bwrap")
            what = f"{each.version}: {each.obstacle.reason}".removeprefix(": ")
            level = "warn" if needed else "ok"
            yield DoctorFinding(name=name, level=level, what=what, todo=each.obstacle.remedy if needed else "")
    yield _confinement(choice)


def _confinement(choice: WallChoice) -> DoctorFinding:
    match choice.kind:
        case "none":
            what = "commands cannot be confined; only a closed list of commands runs without asking"
            todo = "See above for what stands in the way of each."
            return DoctorFinding(name="confinement", level="fail", what=what, todo=todo)
        case kind:
            what = f"by {_NAMES[kind]}: levels {', '.join(choice.levels)}; network off: ok"
            return DoctorFinding(name="confinement", level="ok", what=what)
