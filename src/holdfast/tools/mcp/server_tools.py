"""The tools, prompts and states of MCP servers, for the toolbox of one session."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import UsageError
from holdfast.tool_calls import ToolSchema
from holdfast.tools.tool import Tool, Workspace

if TYPE_CHECKING:
    from holdfast.tools.mcp.connections import McpConnections, McpSettings
    from holdfast.tools.mcp.server_state import ServerState


class ServerTools:
    """A `ToolSource`. Nothing is connected before the first call, prompt, or question about states."""

    def __init__(self, settings: McpSettings | None, *, folder: Path, workspace: Workspace, contained: bool) -> None:
        """Serve the session in `folder`; without settings no server can be asked, and each call says so."""
        self._settings = settings
        self._folder = folder
        self._workspace = workspace
        self._contained = contained
        self._waiting: set[asyncio.Event] = set()

    @cached_property
    def _connections(self) -> McpConnections:
        from holdfast.tools.mcp.connections import McpConnections, McpSettings

        settings = self._settings or McpSettings(lists=self._workspace.spool)
        connections = McpConnections(
            settings, folder=self._folder, spool=self._workspace.spool, root=self._workspace.root
        )
        if self._contained:
            connections.contain()
        return connections

    def owns(self, name: str) -> bool:
        """Return whether the tool is one of a server, by its prefix."""
        return name.startswith("mcp_")

    def tools(self, declared: Sequence[ToolSchema]) -> Mapping[str, Tool]:
        """Return the tools that the session declared of servers, by name."""
        from holdfast.tools.mcp.mcp_tools import mcp_tools

        return mcp_tools(declared, self._connections)

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return what the next turn declares of servers: the same if nothing changed. Asks none."""
        if self._settings is None:
            return declared
        from holdfast.tools.mcp.tool_declarations import next_schemas

        servers = self._settings.servers
        return next_schemas(declared, servers, self._settings.stored.all(servers))

    def reports(self) -> Mapping[str, str]:
        """Return why each server failed that was needed last, "" for one that works. Asks none."""
        if self._settings is None:
            return {}
        reports = self._settings.known.reports
        return {name: reports[name] for name in self._names if name in reports}

    async def expand(self, typed: str) -> str:
        """Return the text of the server's prompt that the user's command names.

        Waits for a server only. Raises `UsageError`, or `ToolFailed`, also if `stop_waiting` is called.
        """
        from holdfast.tools.mcp.prompt_commands import chosen_prompt, prompt_arguments, typed_command

        command = typed_command(typed, self._names)
        stop = asyncio.Event()
        self._waiting.add(stop)
        try:
            chosen = chosen_prompt(command, await self._connections.listed(command.server, stop))
            arguments = prompt_arguments(chosen, command.words)
            text = await self._connections.prompt(chosen.server, chosen.prompt.name, arguments, stop)
        finally:
            self._waiting.discard(stop)
        if not text.strip():
            raise UsageError(
                f"The prompt {'/' + chosen.name!r} of MCP server {chosen.server!r} is empty. Type your own."
            )
        return text

    async def states(self) -> tuple[ServerState, ...]:
        """Return the state of each server. Starts none."""
        return await self._connections.states()

    async def restart(self, server: str) -> None:
        """Start a server again; raises `ToolFailed`, `UsageError` for an unknown one. `stop_waiting` stops the wait."""
        if server not in self._names:
            known = ", ".join(self._names) or "none"
            raise UsageError(f"Unknown MCP server {server!r} (expected one of {known}). See /mcp.")
        stop = asyncio.Event()
        self._waiting.add(stop)
        try:
            await self._connections.restart(server, stop)
        finally:
            self._waiting.discard(stop)

    def stop_waiting(self) -> None:
        """Stop waiting for the prompt of a server, or for its restart."""
        for stop in self._waiting:
            stop.set()

    async def close(self) -> None:
        """End the servers that were started."""
        if "_connections" in vars(self):  # they are made when one is first needed
            await self._connections.close()

    @property
    def _names(self) -> tuple[str, ...]:
        return () if self._settings is None else tuple(each.name for each in self._settings.servers)
