"""The tools of one session in one workspace, and the evidence about interrupted calls."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Container, Mapping
from pathlib import Path

from holdfast.errors import StorageFailed
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import homes
from holdfast.tool_calls import FileChange, FileCheck, FileSeen, ProcessId, ToolSchema
from holdfast.tools.builtin.bash import BashTool
from holdfast.tools.builtin.edit import EditTool
from holdfast.tools.builtin.fetch import FetchTool
from holdfast.tools.builtin.glob import GlobTool
from holdfast.tools.builtin.grep import GrepTool
from holdfast.tools.builtin.read_write import ReadTool, WriteTool, landed
from holdfast.tools.builtin.todo import TodoTool
from holdfast.tools.process.command_traces import traces_of
from holdfast.tools.process.end_record import read_end
from holdfast.tools.process.orphans import reap, said
from holdfast.tools.process.process_table import boot
from holdfast.tools.process.supervisor_client import Supervisor, forget, left_nothing, remove_entry, wait_gone
from holdfast.tools.tool import Instruction, Tool, Traces, Workspace
from holdfast.tools.workspace.atomic_write import remove_unfinished
from holdfast.tools.workspace.file_snapshots import present
from holdfast.tools.workspace.instruction_files import NAMES, instructions


class LocalToolbox:
    """read, write, edit, bash, grep and glob for this machine's files and processes; fetch and todo."""

    def __init__(self, cwd: Path, session_folder: Path, *, declared: Container[str] | None = None) -> None:
        """Serve a session that works in `cwd` and keeps its own files in `session_folder`. Starts no process yet.

        `declared` are the tools its model knows, all if None. Raises `StorageFailed` if the folder for live output
        cannot be created.
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
                f"Folder {str(self._workspace.spool)!r} for command output cannot be created: {error.strerror}. "
                "Free some disk space, or fix the permissions of its parent folder."
            ) from error
        self._supervisor = Supervisor(session_folder)
        run = self._supervisor.capture if shutil.which("rg") else None
        self._fetch = FetchTool()
        tools: tuple[Tool, ...] = (
            ReadTool(self._workspace),
            WriteTool(self._workspace),
            EditTool(self._workspace),
            BashTool(self._workspace, self._supervisor),
            GrepTool(self._workspace, run=run),
            GlobTool(self._workspace),
            self._fetch,
            TodoTool(),
        )
        self._tools = {tool.schema.name: tool for tool in tools if declared is None or tool.schema.name in declared}

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._tools

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """Return the declarations of the tools."""
        return tuple(tool.schema for tool in self._tools.values())

    def contain(self) -> None:
        """From now on run commands in a PID namespace, if bubblewrap can create one (decision 0010)."""
        self._supervisor.contained = True

    def may_fetch(self, networks: tuple[str, ...]) -> None:
        """Allow fetching from these networks although they are not public."""
        self._fetch.networks = networks

    async def quiet(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Wait up to a second; return whether all processes of an earlier holdfast are known to have exited.

        A command's end is known from its supervisor, its watchdog, a reboot, or the end of its namespace. If supervisor
        and watchdog were both killed, it is unknown.
        """
        if not await wait_gone(self._folder):
            return False
        return left_nothing(self._folder) or all(
            read_end(self._workspace.spool / spool) is not None
            or (self._supervisor.contained if process is None else process.boot != boot())
            for spool, process in commands.items()
        )

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """End processes that an earlier holdfast left running and return a note about them, or ""."""
        known = [process for process in calls.values() if process is not None]
        return said(await in_daemon(lambda: reap(set(calls), known)))

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the present instructions of the workspace, the user's own first. Never raises."""
        return instructions(self._workspace.root, homes(os.environ).config.parent / NAMES[0])

    def present(self, seen: FileSeen) -> FileSeen:
        """Return the present state of a file, or `seen` itself if nothing changed. Never raises."""
        return present(self._workspace.root, seen)

    def look(self, change: FileChange) -> FileCheck:
        """Return which content the file of an interrupted edit has. Never raises."""
        return landed(self._workspace.root, change)

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return what a command that began at `since` (seconds since the epoch) left, None if nothing. Never raises."""
        return traces_of(self._workspace.spool / spool, since)

    def forget(self, spool: str) -> None:
        """Delete what a command left; its call has its outcome."""
        forget(self._workspace.spool / spool)

    def sweep(self, edits: Mapping[str, FileChange]) -> None:
        """Delete leftover files of settled calls; `edits` are their file changes, by call id."""
        for call, change in edits.items():
            remove_unfinished(self._workspace.root, call, change)
        with contextlib.suppress(OSError):  # holdfast's folder cannot be read: nothing in it can be deleted
            for left in self._workspace.spool.iterdir():
                remove_entry(left)

    async def close(self) -> None:
        """End all processes of the tools, within a second."""
        await self._supervisor.close()
