"""Finds out which wall works here, by building one around `true` and looking whether it ran.

Nothing is concluded from settings or versions: a kernel may have namespaces, and a profile, a container or an outer
wall may refuse them. It takes some 10 ms, blocks, and runs where the commands will run.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from holdfast.system.bounded_files import read_text_beginning
from holdfast.system.confinement.bubblewrap import BUBBLEWRAP, pid_namespace_words
from holdfast.system.confinement.description import Level, WallKind
from holdfast.system.confinement.kernel.landlock import LEAST_ABI, landlock_abi
from holdfast.system.confinement.kernel.system_calls import ARCHITECTURES
from holdfast.system.confinement.launch import confined_launch
from holdfast.system.confinement.remedies import (
    NOT_INSTALLED,
    Obstacle,
    bubblewrap_obstacle,
    foreign_folder,
    landlock_obstacle,
)
from holdfast.system.confinement.survey import describe
from holdfast.system.confinement.trial import run_trial
from holdfast.system.trusted_programs import trusted_program

if TYPE_CHECKING:
    from holdfast.tool_calls import SandboxMode

PROBE_SECONDS = 10.0
"""How long a wall around `true` may take."""

_MOST = 100


class WallProbe(NamedTuple):
    """One kind of wall on this machine: its version, and what stands in its way, None if it works."""

    kind: WallKind
    version: str
    obstacle: Obstacle | None


class WallChoice(NamedTuple):
    """The wall in use: its kind, the levels it has, and a sentence for the user, "" if all is as it should be.

    `refusal` is why no command may run, "" if commands may.
    """

    kind: WallKind
    levels: tuple[Level, ...]
    notice: str = ""
    refusal: str = ""


def probe_walls(environ: Mapping[str, str], workspace: str = "", *, contained: bool = False) -> tuple[WallProbe, ...]:
    """Return the walls in the order of preference, each tried. Blocks for a moment; starts a process.

    `workspace` is the folder that commands will work in, "" if it is not known. With `contained` they run in a PID
    namespace, if there can be one: root can make no further namespace there.
    """
    program = trusted_program(BUBBLEWRAP, *filter(None, (workspace,)), environ=environ) if contained else ""
    words = pid_namespace_words(program) if program else ()
    within = words if words and _starts(words, environ) else ()
    return (probe_bubblewrap(environ, workspace, within=within), probe_landlock(environ, within=within))


def _starts(words: tuple[str, ...], environ: Mapping[str, str]) -> bool:
    try:
        done = subprocess.run(  # noqa: S603 - the words before every command
            [*words, "true"], env=dict(environ), capture_output=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError):  # then commands run without it
        return False
    return done.returncode == 0


def probe_bubblewrap(environ: Mapping[str, str], workspace: str = "", *, within: tuple[str, ...] = ()) -> WallProbe:
    """Return whether bubblewrap confines here, below the words `within`, and in that folder."""
    path = trusted_program(BUBBLEWRAP, *filter(None, (workspace,)), environ=environ)
    if not path:
        return WallProbe("bwrap", "", NOT_INSTALLED)
    version = _version(path, environ)
    ran, output = _tried("bwrap", environ, within, bubblewrap=path)
    if ran:
        return WallProbe("bwrap", version, obstacle_in(workspace) if workspace else None)
    return WallProbe("bwrap", version, obstacle_here(path, output))


def outer_obstacle(words: tuple[str, ...], place: Path, environ: Mapping[str, str]) -> Obstacle | None:
    """Return why a program of this Python cannot work in the place below these words. Starts one, and blocks."""
    path = trusted_program(BUBBLEWRAP, place, environ=environ)
    if not path:
        return NOT_INSTALLED
    try:
        done = subprocess.run(  # noqa: S603 - this package's own program
            [*words, sys.executable, "-I", "-S", "-c", ""],
            cwd="/",
            env=dict(environ),
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=PROBE_SECONDS,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Obstacle(f"the sandbox did not start: {error}", "See: holdfast doctor sandbox.")
    foreign = obstacle_in(str(place))
    return foreign or (obstacle_here(path, done.stderr.decode("utf-8", "replace")) if done.returncode else None)


def obstacle_in(folder: str) -> Obstacle | None:
    """Return why bubblewrap is of no use in a folder, None if it is.

    Root has every right there by a capability, and inside has none: it could not enter the folder of another user, or
    not write in it. Landlock leaves root the capabilities for files.
    """
    try:
        owner = Path(folder).stat().st_uid
    except OSError:  # the command will say so
        return None
    return foreign_folder(folder, str(owner)) if os.geteuid() == 0 and owner != 0 else None


def obstacle_here(path: str, output: str) -> Obstacle:
    """Return why the bubblewrap at `path` failed on this machine, by its output."""
    return bubblewrap_obstacle(
        output,
        is_setuid=bool(Path(path).stat().st_mode & stat.S_ISUID),
        is_restricted=_setting("kernel/apparmor_restrict_unprivileged_userns") == "1",
        clone_off=_setting("kernel/unprivileged_userns_clone") == "0",
    )


def probe_landlock(environ: Mapping[str, str], *, within: tuple[str, ...] = ()) -> WallProbe:
    """Return whether Landlock, with a filter, confines here."""
    abi, machine = landlock_abi(), os.uname().machine
    obstacle = landlock_obstacle(abi, machine=machine, is_known=machine in ARCHITECTURES, least=LEAST_ABI)
    if obstacle is None:
        ran, output = _tried("landlock", environ, within)
        obstacle = None if ran else Obstacle(f"Landlock failed: {output.strip()[:200]}", "Install bubblewrap.")
    return WallProbe("landlock", f"ABI {abi}" if abi else "", obstacle)


def choose_wall(mode: SandboxMode, probes: tuple[WallProbe, ...]) -> WallChoice:
    """Return the wall to use: the first that works. Pure."""
    if mode == "off":
        return WallChoice("none", ())
    reasons = "; ".join(each.obstacle.reason for each in probes if each.obstacle)
    remedy = next((each.obstacle.remedy for each in probes if each.obstacle), "")
    for each in probes:
        if each.obstacle is None and each.kind == "bwrap":
            return WallChoice("bwrap", ("read", "workspace", "network"))
        if each.obstacle is None:
            what = "Only commands that read are confined (by Landlock)"
            return WallChoice(each.kind, ("read",), notice=f"{what}: {reasons}. {remedy}")
    if mode == "require":
        what = "Nothing was run: sandbox is 'require', and no sandbox works here"
        return WallChoice("none", (), refusal=f"{what}: {reasons}. {remedy}")
    return WallChoice("none", (), notice=f"Commands are not confined: {reasons}. {remedy}")


def _tried(
    kind: WallKind, environ: Mapping[str, str], within: tuple[str, ...], *, bubblewrap: str = ""
) -> tuple[bool, str]:
    """Return whether the real arguments confine `true` here, and what was output if not."""
    with tempfile.TemporaryDirectory(prefix="holdfast-probe-") as scratch:
        workspace = f"{scratch}/workspace"
        Path(workspace).mkdir()
        try:
            described = describe(
                "read",
                cwd=workspace,
                roots=(workspace,),
                temporary=f"{scratch}/temporary",
                placeholders=f"{scratch}/masks",
                environ=environ,
            )
            result = run_trial(
                confined_launch(described._replace(bubblewrap=bubblewrap), kind, environ),
                ["/bin/sh", "-c", "true"],
                seconds=PROBE_SECONDS,
                within=within,
            )
        except OSError as error:
            return False, str(error)
    return result.code == 0 and result.did_start, result.output


def _version(path: str, environ: Mapping[str, str]) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
        done = subprocess.run(  # noqa: S603 - the program that the probe is about
            [path, "--version"], env=dict(environ), capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
        return (done.stdout.split() or [""])[-1][:_MOST]
    return ""


def _setting(name: str) -> str:
    with contextlib.suppress(OSError):
        return read_text_beginning(Path("/proc/sys", name), _MOST).strip()
    return ""
