"""The tools of one session in one workspace, and the evidence about interrupted calls.

A session starts with the declarations alone. The code of the tools is imported at the first call, and the code that
gathers evidence when there is an interrupted call.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from holdfast.errors import StorageFailed
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import brought_folders, homes, private_folders
from holdfast.tool_calls import SKILL_TOOL, FileChange, FileCheck, FileSeen, ProcessId, SandboxMode, ToolSchema
from holdfast.tools.tool import Instruction, Tool, Traces, Workspace
from holdfast.tools.workspace.file_snapshots import current_snapshot
from holdfast.tools.workspace.instruction_files import NAMES, instructions

if TYPE_CHECKING:
    from holdfast.tools.mcp.connections import McpSettings
    from holdfast.tools.mcp.server_state import ServerState
    from holdfast.tools.process.session_supervisors import Supervisors
    from holdfast.tools.sandbox import Sandbox
    from holdfast.tools.tool_source import Skills, ToolSource
    from holdfast.tools.web_search.backends import SearchBackend

_SERVER_TOOLS = "holdfast.tools.mcp.server_tools:ServerTools"
"""What makes the tools of MCP servers."""
_SKILLS = "holdfast.skills.session_skills:SessionSkills"
"""What has the skills and commands that people bring along."""


def is_own(name: str) -> bool:
    """Return whether a tool of that name is holdfast's own, not of an MCP server or a plug-in."""
    from holdfast.tools.builtin.declarations import DECLARATIONS

    return any(each.name == name for each in DECLARATIONS)


class LocalToolbox:
    """The tools for this machine's files and processes, fetch, search and todo, and those of MCP servers."""

    def __init__(
        self,
        cwd: Path,
        session_folder: Path,
        *,
        declared: Container[str] | None = None,
        remote: tuple[ToolSchema, ...] = (),
    ) -> None:
        """Serve a session that works in `cwd` and stores its files in `session_folder`. Starts no process yet.

        `declared` are the tools its model knows, None for the default tools; `remote` are tools of MCP servers and
        plug-ins. Raises
        `StorageFailed` if the folder for live output cannot be created.
        """
        self._folder = session_folder
        root = Path(os.path.realpath(cwd))
        skills = brought_folders("skills", root, os.environ)
        self._has_brought = bool(skills or brought_folders("commands", root, os.environ))
        self._workspace = Workspace(
            root=root,
            readable=tuple(Path(os.path.realpath(each.path)) for each in skills),
            spool=session_folder / "spool",
            outputs=Path(os.path.realpath(session_folder / "outputs")),
            private=private_folders(os.environ, session_folder),
        )
        try:
            self._workspace.spool.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageFailed(
                f"Folder {str(self._workspace.spool)!r} for command output cannot be created: {error.strerror}. "
                "Free some disk space, or fix the permissions of its parent folder."
            ) from error
        self._contained = False
        self._sandbox_mode: SandboxMode = "off"
        self._wrap: tuple[str, ...] = ()
        self._networks: tuple[str, ...] = ()
        self._backend: SearchBackend | None = None
        self._remote = remote
        self._plain_source: ToolSource | None = None
        self._mcp: McpSettings | None = None
        from holdfast.tools.builtin.declarations import DECLARATIONS
        from holdfast.tools.tool_choice import chosen_tools

        self.schemas: tuple[ToolSchema, ...] = (
            *(each for each in DECLARATIONS if each.name in (chosen_tools("") if declared is None else declared)),
            *sorted(remote, key=lambda each: each.name.startswith("mcp_")),  # those of servers last
        )
        """The declarations of the tools."""

    @property
    def folder(self) -> Path:
        """Return the session's folder."""
        return self._folder

    @property
    def root(self) -> Path:
        """Return the folder in which the tools work, its links followed."""
        return self._workspace.root

    @property
    def private(self) -> tuple[Path, ...]:
        """Return holdfast's own folders, which no tool changes."""
        return self._workspace.private

    @property
    def tools(self) -> Mapping[str, Tool]:
        return self._tools

    @property
    def spool(self) -> Path:
        """Return the folder with the live output of commands."""
        return self._workspace.spool

    @property
    def supervisors(self) -> Supervisors:
        """Return what runs the session's commands, for what holdfast itself runs beside its tools."""
        return self._supervisors

    def missing_folder(self) -> str:
        """Return the folder of the tools if it does not exist, "" if it does."""
        return "" if self._workspace.root.is_dir() else str(self._workspace.root)

    @cached_property
    def _tools(self) -> Mapping[str, Tool]:
        from holdfast.tools.arguments.tolerant_tool import ToolNames
        from holdfast.tools.builtin.builtin_tools import builtin_tools

        tools = builtin_tools(
            self._workspace,
            self._supervisors,
            search=self._supervisors.capture,
            networks=self._networks,
            backend=self._backend,
            sandbox=None if self._wrap else self._sandbox,
        )
        remote = {each.name for each in self._remote}
        names = dict.fromkeys(each.name for each in self.schemas if each.name not in remote)
        if "bash" in names:  # those for tasks are declared with the first one, the others where a user can answer
            names |= dict.fromkeys(("task", "stop_task", "ask_user", "present_plan"))
        local = {name: tools[name] for name in names}
        foreign = {name: tool for each in self._sources for name, tool in each.tools(self._of(each)).items()}
        if (skill := self._skill_schema) is not None and (skills := self.skills) is not None:
            foreign[skill.name] = skills.tool(skill)
        return ToolNames(local, foreign)

    @property
    def _skill_schema(self) -> ToolSchema | None:
        """Return the tool that reads skills as the session declared it, None if it did not."""
        return next((each for each in self._remote if each.name == SKILL_TOOL), None)

    @cached_property
    def skills(self) -> Skills | None:
        """Return the skills and commands that people bring along; None if there is no folder for them."""
        if not self._has_brought and self._skill_schema is None:
            return None
        make = cast("Callable[[Path, Mapping[str, str], str], Skills]", resolve_name(_SKILLS))
        return make(self._workspace.root, os.environ, self._folder.name)

    @property
    def _sources(self) -> tuple[ToolSource, ...]:
        """Return the sources of the tools that are not holdfast's own: plug-ins and programs, then servers."""
        plain = () if self._plain_source is None else (self._plain_source,)
        has_servers = self._mcp is not None or any(each.name.startswith("mcp_") for each in self._remote)
        return (*plain, self._servers) if has_servers else plain

    def _of(self, source: ToolSource) -> tuple[ToolSchema, ...]:
        """Return the declared tools of a source."""
        return tuple(each for each in self._remote if source.owns(each.name))

    @cached_property
    def _servers(self) -> ToolSource:
        make = cast("Callable[..., ToolSource]", resolve_name(_SERVER_TOOLS))
        return make(self._mcp, folder=self._folder, workspace=self._workspace, contained=self._contained)

    @cached_property
    def _supervisors(self) -> Supervisors:
        from holdfast.tools.process.session_supervisors import Supervisors

        return Supervisors(self._folder, contained=self._contained, wrap=self._wrap, workspace=self._workspace.root)

    @cached_property
    def _sandbox(self) -> Sandbox:
        from holdfast.tools.sandbox import Sandbox

        return Sandbox(
            self._workspace.root,
            self._folder,
            mode=self._sandbox_mode,
            private=self._workspace.private,
            contained=self._contained,
        )

    def confine(self, mode: SandboxMode) -> None:
        """Run commands in a sandbox: `auto`, if one works here, or `require`. Call this before `tools`."""
        self._sandbox_mode = mode

    def contain(self) -> None:
        """Run commands in a PID namespace, if bubblewrap can create one (decision 0010). Call this before `tools`."""
        self._contained = True

    def wrap(self, words: tuple[str, ...]) -> None:
        """Run commands below these words: a sandbox, or a container. Call this before `tools`."""
        self._wrap = words

    def add_tools(self, tools: Mapping[str, Tool]) -> None:
        """Serve these tools of plug-ins or a program, as far as the session declared them. Call this before `tools`."""
        from holdfast.tools.given_tools import GivenTools

        self._plain_source = GivenTools(tools)

    def may_ask(self, settings: McpSettings | None) -> None:
        """Allow asking these MCP servers, for the tools that the session declared. Call this before `tools`."""
        self._mcp = settings

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return the tools that the next turn declares, with the current tools of each source, and serve them.

        A tool of a plug-in that is gone is not declared any more.
        """
        known = {each.name for each in self._remote} - {SKILL_TOOL}
        remote = tuple(each for each in declared if each.name in known or each.name.startswith("mcp_"))
        now = tuple(
            schema
            for source in self._sources
            for schema in source.redeclare(tuple(each for each in remote if source.owns(each.name)))
        )
        if now == remote:
            return declared
        local = tuple(each for each in declared if each not in remote)
        skill = self._skill_schema
        self._remote, self.schemas = (*(() if skill is None else (skill,)), *now), (*local, *now)
        vars(self).pop("_tools", None)  # made again when the next one is called
        return self.schemas

    def server_reports(self) -> Mapping[str, str]:
        """Return why each MCP server of the session failed that was needed last, "" for one that works. Asks none."""
        return {} if self._mcp is None else self._servers.reports()

    async def expand_prompt(self, typed: str) -> str:
        """Return the text of the MCP server's prompt that the user's command names; any other text as it is.

        Waits for a server only. Raises `UsageError`, or `ToolFailed`, also if `stop_waiting` is called.
        """
        return await self._servers.expand(typed) if typed.startswith("/mcp__") else typed

    async def server_states(self) -> tuple[ServerState, ...]:
        """Return the state of each MCP server of the session. Starts none."""
        return () if self._mcp is None else await self._servers.states()

    async def restart_server(self, server: str) -> None:
        """Start a server again; raises `ToolFailed`, `UsageError` for an unknown one. `stop_waiting` stops the wait."""
        await self._servers.restart(server)

    def stop_waiting(self) -> None:
        """Stop waiting for the prompt of a server, or for its restart."""
        if "_servers" in vars(self):
            self._servers.stop_waiting()

    def may_fetch(self, networks: tuple[str, ...]) -> None:
        """Allow fetching from these networks although they are not public. Call this before `tools`."""
        self._networks = networks

    def may_search(self, backend: SearchBackend) -> None:
        """Search the web with this service. Call this before `tools`."""
        self._backend = backend

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Wait up to a second; return whether all processes of an earlier holdfast are known to have exited.

        A command's end is known from its supervisor, its watchdog, a reboot, or the end of its namespace. If supervisor
        and watchdog were both killed, it is unknown.
        """
        from holdfast.tools.process.end_record import read_end
        from holdfast.tools.process.process_table import boot
        from holdfast.tools.process.supervisor_locks import left_nothing, wait_for_exit

        if not await wait_for_exit(self._folder):
            return False
        return left_nothing(self._folder) or all(
            read_end(self._workspace.spool / spool) is not None
            or (self._contained if process is None else process.boot != boot())
            for spool, process in commands.items()
        )

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """End processes that an earlier holdfast left running and return a note about them, or ""."""
        from holdfast.tools.process.orphans import describe_orphans, reap

        known = [process for process in calls.values() if process is not None]
        return describe_orphans(await in_daemon(lambda: reap(set(calls), known)))

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the current instructions of the workspace, the user's file first. Never raises."""
        files = instructions(self._workspace.root, homes(os.environ).config.parent / NAMES[0])
        skills = None if self._skill_schema is None else self.skills
        return files if skills is None else (*files, *skills.catalogue())

    def nested_instructions(self, paths: Sequence[str]) -> tuple[Instruction, ...]:
        """Return the instructions for these files that are not for the whole workspace. Never raises."""
        from holdfast.tools.workspace.nested_instructions import nested_instructions

        return nested_instructions(self._workspace.root, paths)

    def current_snapshot(self, snapshot: FileSeen) -> FileSeen:
        """Return the current state of a file, or `snapshot` itself if nothing changed. Never raises."""
        return current_snapshot(self._workspace.root, snapshot)

    def check_change(self, change: FileChange) -> FileCheck:
        """Return whether the file of an interrupted edit has the old, the new or another content. Never raises."""
        from holdfast.tools.builtin.read_write import check_change

        return check_change(self._workspace.root, change)

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return the traces of a command that began at `since` (seconds since the epoch), if any. Never raises."""
        from holdfast.tools.process.command_traces import traces_of

        return traces_of(self._workspace.spool / spool, since, outputs=self._workspace.outputs)

    def forget(self, spool: str) -> None:
        """Delete the files of a command whose call has its outcome."""
        from holdfast.tools.process.supervisor_client import forget

        forget(self._workspace.spool / spool)

    def sweep(self, edits: Mapping[str, Sequence[FileChange]]) -> None:
        """Delete leftover files of settled calls; `edits` are their file changes, by call id."""
        if edits:
            from holdfast.tools.workspace.atomic_write import remove_unfinished

            for call, changes in edits.items():
                for change in changes:
                    remove_unfinished(self._workspace.root, call, change)
        if any(next(self._folder.glob(locks), None) is not None for locks in ("supervisor-*.lock", "keeper*.lock")):
            from holdfast.tools.process.supervisor_locks import remove_locks

            remove_locks(self._folder)
        with contextlib.suppress(OSError):  # holdfast's folder cannot be read: nothing in it can be deleted
            for entry in self._workspace.spool.iterdir():
                from holdfast.tools.process.supervisor_client import remove_entry

                remove_entry(entry)

    async def close(self) -> None:
        """End all processes of the tools, within a second."""
        if "_servers" in vars(self):  # it is made when a server is first needed
            await self._servers.close()
        if "_supervisors" in vars(self):  # they are made for the first command
            await self._supervisors.close()
