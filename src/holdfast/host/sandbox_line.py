"""Which sandbox confines the commands of a session, as one line for the user. Pure, but for the trial."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.tool_calls import Mode, SandboxMode

if TYPE_CHECKING:
    from holdfast.system.confinement.probe import WallChoice

_WALLS = {"bwrap": "bubblewrap", "landlock": "Landlock"}


def sandbox_line(sandbox: SandboxMode, wall: WallChoice, mode: Mode) -> str:
    """Return which wall works here and at which levels, and whether this approval mode uses it."""
    if sandbox == "off":
        return "off: commands are not confined"
    if wall.kind == "none":
        result = "no command runs" if sandbox == "require" else "commands are not confined"
        return f"{sandbox}: none works here, so {result}; see holdfast doctor sandbox"
    line = f"{sandbox}: {_WALLS[wall.kind]}, levels {', '.join(wall.levels)}"
    return f"{line}; mode yolo: not confined" if mode == "yolo" and sandbox != "require" else line


def tried_sandbox_line(sandbox: SandboxMode, mode: Mode, environ: Mapping[str, str], workspace: Path) -> str:
    """Return the line for this machine and folder. Blocks for a moment: each wall is tried."""
    from holdfast.system.confinement.probe import choose_wall, probe_walls

    probes = () if sandbox == "off" else probe_walls(environ, str(workspace))
    return sandbox_line(sandbox, choose_wall(sandbox, probes), mode)
