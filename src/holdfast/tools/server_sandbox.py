"""The wall around an MCP server whose entry says `sandbox = true`: the same as around a command that the user allowed.

It sees the disk read-only without keys, credentials and the workspace's own secrets, writes the workspace and its own
TMPDIR, and reaches only the hosts that its entry names. A server that cannot be confined is not started.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.confinement.command_environment import DROPPED, PROXIES
from holdfast.system.secret_files import holds_secrets
from holdfast.system.user_directories import private_folders
from holdfast.tool_calls import Confined
from holdfast.tools.sandbox import ConfinedStart, Sandbox
from holdfast.tools.workspace.command_files import MOST_BELOW, disk_surroundings

if TYPE_CHECKING:
    from holdfast.system.confinement.entry import LaunchFields
    from holdfast.tools.tool import Visibility

_OF_THE_WALL = DROPPED | PROXIES | {"TMPDIR"}


class ServerStart(msgspec.Struct, frozen=True, kw_only=True):
    """What the wall of a server is made for: its name in files, its folder, variables of its entry, and hosts."""

    word: str
    cwd: Path
    variables: Mapping[str, str]
    hosts: tuple[str, ...]


class ServerSandbox:
    """Makes the walls of a session's servers. What belongs to them lies in the session's `folder`, below `servers`."""

    def __init__(self, root: Path, folder: Path, *, contained: bool) -> None:
        """Confine to the workspace `root`. With `contained`, servers run in a PID namespace of the session."""
        self._root = root
        self._folder = folder
        self._contained = contained

    def launch_fields(self, start: ServerStart, *, call: str) -> LaunchFields:
        """Return how the server is started; raises `ToolFailed` if it cannot be confined. Blocks."""
        sandbox = Sandbox(
            self._root,
            self._folder / "servers" / start.word,
            mode="auto",
            private=private_folders(os.environ, self._folder),
            contained=self._contained,
        )
        level: Confined = "network" if start.hosts else "workspace"
        if level not in sandbox.wall.levels:
            raise ToolFailed(
                "Its entry says `sandbox`, and no sandbox that can confine a server works here. "
                f"{sandbox.wall.notice} To run it without a sandbox, remove `sandbox` from its entry."
            )
        below = disk_surroundings().below(str(self._root), False)  # noqa: FBT003 - of a lookup
        if not below.is_complete:
            raise ToolFailed(
                f"Its entry says `sandbox`, and the folder holds more than {MOST_BELOW:,} names, so its files with "
                "secrets cannot be found and hidden. Start holdfast in a smaller folder, or remove `sandbox`."
            )
        fields = sandbox.launch_fields(
            ConfinedStart(level=level, cwd=start.cwd, files=below.files, may_read=_without_secrets, by_user=True),
            call=call,
        )
        variables = {name: value for name, value in start.variables.items() if name not in _OF_THE_WALL}
        fields["environment"] |= variables
        return fields


def _without_secrets(path: str) -> Visibility:
    """Return what a server sees of a file. The user named the server, and not each of its calls."""
    return "nothing" if holds_secrets(path) else "all"
