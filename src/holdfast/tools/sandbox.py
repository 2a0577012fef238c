"""The wall around a session's commands: which one works here, and how a command is started inside it.

What a command of the model may do is decided by its words (`approval/decision.py`); what it can do is decided here, by
the kernel. The wall is tried once, when the first command is planned. Where none works, commands run as they are, and
only what a closed grammar proves safe runs unasked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.confinement.survey import LOOKING_PROGRAMS
from holdfast.system.secret_files import holds_secrets
from holdfast.tool_calls import Confined, SandboxMode
from holdfast.tools.process.environment import child_environment

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields
    from holdfast.system.confinement.probe import WallChoice
    from holdfast.tools.process.command_end import RefusedHost
    from holdfast.tools.tool import Visibility


class ConfinedStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a wall is made for: the level, the folder, the files of the workspace, and what of them may be seen.

    `by_user` is whether the user, or a rule of theirs, allowed the command: it sees the whole disk, except for keys.
    One that `stays` lasts as long as what it started. With `looks`, the line only reads and shows the machine's
    processes, of which inside none would be seen.
    """

    level: Confined
    cwd: Path
    files: tuple[str, ...]
    may_read: Callable[[str], Visibility]
    by_user: bool
    stays: bool = False
    looks: bool = False


class Sandbox:
    """The wall of one session. `mode` is the user's choice."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        *,
        mode: SandboxMode,
        private: tuple[Path, ...] = (),
        contained: bool = False,
    ) -> None:
        """Confine to the workspace `root`; TMPDIR and placeholders lie in the session's `folder`.

        `private` folders are holdfast's: no command sees them. With `contained` commands run in a PID namespace.
        """
        self._contained = contained
        self._root = root
        self._folder = folder
        self._private = private
        self.mode: SandboxMode = mode

    @cached_property
    def wall(self) -> WallChoice:
        """The wall that works here; tried when it is first asked for, which takes some 10 ms and blocks."""
        from holdfast.system.confinement.probe import choose_wall, probe_walls

        if self.mode == "off":
            return choose_wall("off", ())
        found = choose_wall(self.mode, probe_walls(os.environ, str(self._root), contained=self._contained))
        if not self._contained or not (found.notice or found.refusal):
            return found
        why = " This was tried inside the namespace of pid_namespace = true, which confined commands do not need."
        return found._replace(notice=found.notice and found.notice + why, refusal=found.refusal and found.refusal + why)

    @property
    def levels(self) -> tuple[Confined, ...]:
        """Return the levels at which commands can be confined; raises `ToolFailed` if they must be and cannot."""
        if self.wall.refusal:
            raise ToolFailed(self.wall.refusal)
        return self.wall.levels

    def cannot_hide(self, files: tuple[str, ...]) -> str:
        """Return why a command cannot run without seeing the secrets among these files, "" if it can. Blocks.

        Landlock grants what may be read, and a secret among very many files takes too many grants. Rules of the user
        may hide other files; then the call fails with the same sentence.
        """
        if self.wall.kind != "landlock":
            return ""
        from holdfast.system.confinement.kernel.readable_paths import RuleLimit

        start = ConfinedStart(
            level="read",
            cwd=self._root,
            files=tuple(path for path in files if holds_secrets(path)),
            may_read=lambda _: "name",
            by_user=False,
        )
        try:
            self._fields(start, call="")
        except RuleLimit as error:
            return f"the secrets in {error.folder!r} cannot be hidden from it, for too many files lie beside them"
        except ToolFailed:  # the command will fail with that reason
            return ""
        return ""

    def launch_fields(self, start: ConfinedStart, *, call: str) -> LaunchFields:
        """Return how the supervisor starts the command; raises `ToolFailed` if it cannot be confined. Blocks."""
        from holdfast.system.confinement.kernel.readable_paths import RuleLimit

        try:
            return self._fields(start, call=call)
        except RuleLimit as error:
            raise ToolFailed(f"{error} Nothing was run.") from error

    def _fields(self, start: ConfinedStart, *, call: str) -> LaunchFields:
        from holdfast.system.confinement.description import LevelUnavailable
        from holdfast.system.confinement.launch import confined_launch, launch_fields
        from holdfast.system.confinement.machine import masks_of
        from holdfast.system.confinement.survey import describe

        assert start.level, "a command at no level is not confined"
        environ = child_environment(os.environ, call=call)
        hidden = ("nothing",) if start.by_user else ("nothing", "name")
        secrets = [path for path in start.files if start.may_read(path) in hidden]
        try:
            described = describe(
                start.level,
                cwd=str(start.cwd),
                roots=(str(self._root),),
                temporary=str(self._folder / "tmp"),
                placeholders=str(self._folder / "masks"),
                environ=environ,
                masks=masks_of([*secrets, *map(str, self._private)]),
                fixed=_obeyed(start.files, str(self._root)) if start.level != "read" else (),
                sees_disk=start.by_user,
                programs=LOOKING_PROGRAMS if start.looks else frozenset(),
            )
            return launch_fields(confined_launch(described._replace(stays=start.stays), self.wall.kind, environ))
        except LevelUnavailable as error:
            raise ToolFailed(f"{error} Nothing was run.") from error
        except OSError as error:
            raise ToolFailed(f"The command could not be confined: {error}. Nothing was run.") from error


def _obeyed(files: tuple[str, ...], root: str) -> tuple[str, ...]:
    """Return what other programs run or obey among the files below `root`: whole folders of them, and single files."""
    from holdfast.tools.workspace.autorun_files import runs_by_itself

    found: dict[str, None] = {}
    # What git obeys in the workspace's own repository, `describe` keeps; a commit writes the rest of it.
    for path in (each for each in files if each != f"{root}/.git"):
        parts = path.removeprefix(f"{root}/").split("/")
        if runs_by_itself("/".join(parts)):
            folders = ("/".join(parts[:count]) for count in range(1, len(parts)))
            fixed = next((folder for folder in folders if runs_by_itself(f"{folder}/x")), "/".join(parts))
            found[f"{root}/{fixed}"] = None
    return tuple(found)


_HOST = re.compile(r"(?:\*|(?:\*\.)?[A-Za-z0-9_-][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


def is_host_pattern(text: str) -> bool:
    """Return whether the text names a host, or all below one, as `network` takes it: with a port or without."""
    return _HOST.fullmatch(text) is not None


_SEEN = {
    "read": "it could read the workspace and the system's programs, write only to $TMPDIR, and reach no network; what "
    "lies outside is not visible to a command that the user did not allow",
    "workspace": "it could write the workspace and reach no network",
    "network": "it could write the workspace and reach only the addresses that were named",
}
_SIGNS = (
    "Read-only file system",
    "Permission denied",
    "Operation not permitted",
    "No such file or directory",
    "Network is unreachable",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "getaddrinfo",
    "EAI_AGAIN",
    "ENOTFOUND",
    "EROFS",
    "EACCES",
    "EPERM",
    "Connection refused",
    "Failed to connect",
    "offline",
)

_MOST_REFUSED = 5


def confinement_note(level: Confined, output: str) -> str:
    """Return a line for the model about a confined command that failed, if its output looks like the wall's doing."""
    if not level or not any(sign in output for sign in _SIGNS):
        return ""
    return (
        f"\n[The command ran confined: {_SEEN[level]}. If it failed because of that, ask for more: "
        'network: ["HOST"] for addresses, outside: "why" to run it without a sandbox.]'
    )


def moved_note(moved: tuple[str, ...]) -> str:
    """Return a line about the files that a command put where git would obey them, "" if there are none."""
    if not moved:
        return ""
    shown = ", ".join(repr(path) for path in moved[:_MOST_REFUSED])
    more = f" and {len(moved) - _MOST_REFUSED} more" if len(moved) > _MOST_REFUSED else ""
    return (
        f"\n[The command made {shown}{more}: git would take its settings from elsewhere. It was moved away, to a name "
        "that ends in .moved-1 or the next number. Tell the user.]"
    )


def refused_note(refused: tuple[RefusedHost, ...]) -> str:
    """Return a line for the model about the addresses that a confined command did not get, "" if there are none."""
    if not refused:
        return ""
    shown = "; ".join(f"{each.host}:{each.port} ({each.why})" for each in refused[:_MOST_REFUSED])
    more = f"; and {len(refused) - _MOST_REFUSED} more" if len(refused) > _MOST_REFUSED else ""
    return f"\n[The sandbox refused to connect to {shown}{more}. Name what it needs in network: [...].]"
