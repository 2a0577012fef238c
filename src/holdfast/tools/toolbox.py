"""The tools of one session in one workspace, and the look at what interrupted calls left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Container, Mapping
from pathlib import Path

from holdfast.calls import FileChange, FileSeen, Looked, ProcessId, ToolSchema
from holdfast.config import homes
from holdfast.errors import StorageFailed
from holdfast.tools.bash import BashTool
from holdfast.tools.change import remove_unfinished
from holdfast.tools.edit import EditTool
from holdfast.tools.end_record import read_end
from holdfast.tools.fetch import FetchTool
from holdfast.tools.files import ReadTool, WriteTool, landed
from holdfast.tools.instructions import NAMES, instructions
from holdfast.tools.leftovers import reap, said
from holdfast.tools.processes import boot
from holdfast.tools.search import GlobTool, GrepTool
from holdfast.tools.seen import present
from holdfast.tools.shell import Keeper, forget, left_nothing, wait_gone
from holdfast.tools.thread import in_daemon
from holdfast.tools.todo import TodoTool
from holdfast.tools.tool import Instruction, Tool, Traces, Workspace
from holdfast.tools.traces import traces_of


class LocalToolbox:
    """read, write, edit, bash, grep and glob over the files and processes of this machine; fetch and todo."""

    def __init__(self, cwd: Path, session_folder: Path, *, declared: Container[str] | None = None) -> None:
        """Serve a session that works in `cwd` and keeps its own files in `session_folder`; starts no process yet.

        `declared` are the tools that its model was told of, all if None. Raises `StorageFailed` if the folder for live
        output cannot be made.
        """
        self._folder = session_folder
        own = (session_folder.parent, homes(os.environ).config.parent, homes(os.environ).sessions.parent)
        self._workspace = Workspace(
            root=Path(os.path.realpath(cwd)),
            spool=session_folder / "spool",
            private=tuple(Path(os.path.realpath(folder)) for folder in own),
        )
        try:
            self._workspace.spool.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"Folder {str(self._workspace.spool)!r} cannot be made: {error.strerror}, one for what commands print "
                "was expected. Free some space, or correct its permissions."
            ) from error
        self._keeper = Keeper(session_folder)
        run = self._keeper.capture if shutil.which("rg") else None
        self._fetch = FetchTool()
        tools: tuple[Tool, ...] = (
            ReadTool(self._workspace),
            WriteTool(self._workspace),
            EditTool(self._workspace),
            BashTool(self._workspace, self._keeper),
            GrepTool(self._workspace, run=run),
            GlobTool(self._workspace),
            self._fetch,
            TodoTool(),
        )
        self._tools = {tool.schema.name: tool for tool in tools if declared is None or tool.schema.name in declared}

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name."""
        return self._tools

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return what a model is told of them."""
        return tuple(tool.schema for tool in self._tools.values())

    def contain(self) -> None:
        """Run commands in a PID namespace of their own from now on, where bubblewrap can make one (decision 0010)."""
        self._keeper.contained = True

    def may_fetch(self, networks: tuple[str, ...]) -> None:
        """Let pages be fetched of these networks too, though they are not public."""
        self._fetch.networks = networks

    async def quiet(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Return whether every process of an earlier holder is known to be gone, having waited at most a second for it.

        Of a command that is known by the keeper's word, by its guard's, by a restart of the system, or by the end of
        its namespace. If both were killed, nobody was there to see it.
        """
        if not await wait_gone(self._folder):
            return False
        return left_nothing(self._folder) or all(
            read_end(self._workspace.spool / spool) is not None
            or (self._keeper.contained if process is None else process.boot != boot())
            for spool, process in commands.items()
        )

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """Return what is to be said of processes that an earlier holder left alive, having ended them, or ""."""
        known = [process for process in calls.values() if process is not None]
        return said(await in_daemon(lambda: reap(set(calls), known)))

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the instructions that hold in the workspace now, the person's own first; never raises."""
        return instructions(self._workspace.root, homes(os.environ).config.parent / NAMES[0])

    def present(self, seen: FileSeen) -> FileSeen:
        """Return a file that was seen as it is now: `seen` itself if nothing tells of a change; never raises."""
        return present(self._workspace.root, seen)

    def look(self, change: FileChange) -> Looked:
        """Return what is at the path of an interrupted edit; never raises."""
        return landed(self._workspace.root, change)

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return what a command that began at `since` (seconds since the epoch) left, None if nothing; never raises."""
        return traces_of(self._workspace.spool / spool, since)

    def forget(self, spool: str) -> None:
        """Remove what a command left: its call has its outcome."""
        forget(self._workspace.spool / spool)

    def sweep(self, edits: Mapping[str, FileChange]) -> None:
        """Remove what calls left that nobody could clean up after; `edits` are file changes of theirs, by call id."""
        for call, change in edits.items():
            remove_unfinished(self._workspace.root, call, change)
        with contextlib.suppress(OSError):  # a folder of ours that cannot be read: nothing in it can be removed
            for left in self._workspace.spool.iterdir():
                with contextlib.suppress(OSError):  # a folder that a command made here
                    left.unlink()

    async def close(self) -> None:
        """End every process of the tools, within a second."""
        await self._keeper.close()
