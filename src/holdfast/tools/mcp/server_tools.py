"""The tools, prompts and states of MCP servers, for the toolbox of one session.

The tools of MCP servers, as the model calls them: each by its name, or all of them through three constant tools.

How it works. `tool_declarations` says what a session declares. Servers of which it declares nothing are reached through
`mcp_find`, `mcp_call` and `mcp_read`, whatever they offer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ToolFailed, UsageError
from holdfast.tool_calls import Effect, RemoteCall, ToolSchema
from holdfast.tools.mcp.connections import McpConnections
from holdfast.tools.mcp.tool_declarations import CALL, FIND, READ
from holdfast.tools.mcp.tool_names import PREFIX, ListedTool, names_for_model, server_of, server_prefix
from holdfast.tools.tool import Plan, Tool, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import cap
from holdfast.typed_data import decode_json

if TYPE_CHECKING:
    from holdfast.tools.mcp.connections import McpSettings
    from holdfast.tools.mcp.server_state import ServerState


_LONGEST_LIST = 30_000
_SHORT = 300
_MOST_NAMED = 20


def mcp_tools(schemas: Sequence[ToolSchema], connections: McpConnections) -> Mapping[str, Tool]:
    """Return the tools that a session declared, by name."""
    kinds: dict[str, type[_Find | _Call | _Read]] = {FIND: _Find, CALL: _Call, READ: _Read}
    return {each.name: kinds.get(each.name, _Declared)(each, connections) for each in schemas}


class _Remote:
    """A tool that asks a server."""

    def __init__(self, schema: ToolSchema, connections: McpConnections) -> None:
        self._schema = schema
        self._connections = connections

    @property
    def schema(self) -> ToolSchema:
        """Return the declaration, as it was when the session began."""
        return self._schema

    @property
    def effect(self) -> Effect:
        """Return the strongest effect of the tool."""
        return "remote"

    def _call_plan(self, name: str, arguments: Mapping[str, object]) -> Plan:
        """Return the plan of a call of the tool `name`; raises `ToolFailed` if no configured server has it."""
        connections = self._connections
        server = server_of(name, connections.servers)
        if not server:
            raise ToolFailed(
                f"Tool {name!r} cannot be called: its MCP server is not configured "
                f"(configured: {_names(connections)}). Nothing was sent."
            )

        effect = connections.effect(server, name)

        async def run(context: ToolContext) -> ToolOutput:
            return await connections.call(server, name, arguments, context, effect=effect)

        return Plan(
            effect=effect,
            title=f"ask {server}: {name.removeprefix(server_prefix(server))}",
            detail=msgspec.json.format(msgspec.json.encode(arguments), indent=2).decode() if arguments else "",
            host="" if effect == "read" else connections.servers[server].host,
            tool=name,
            remote=connections.remote_call(server, name),
            run=run,
        )


class _Declared(_Remote):
    """One tool of one server."""

    @property
    def effect(self) -> Effect:
        """Return `read` if the user trusts the server's hints and it marks the tool as read-only, else `remote`."""
        server = server_of(self._schema.name, self._connections.servers)
        return self._connections.effect(server, self._schema.name) if server else "remote"

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the interface of a tool
        """Return the plan of the call; raises `ToolFailed` if the arguments are not a JSON object."""
        return self._call_plan(self._schema.name, _object(arguments))


class _Call(_Remote):
    """Any tool of any server, by name."""

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the interface of a tool
        """Return the plan of the call; raises `ToolFailed` for arguments that name no tool."""
        fields = _object(arguments)
        name, tool_arguments = fields.get("tool"), fields.get("arguments", {})
        if not isinstance(name, str) or not name.startswith(PREFIX):
            raise ToolFailed(f"Argument `tool` is missing (expected a name that {FIND} returned). Nothing was sent.")
        tool_arguments = _object(tool_arguments) if isinstance(tool_arguments, str) else tool_arguments
        if not isinstance(tool_arguments, dict):
            raise ToolFailed("Argument `arguments` is not an object. Nothing was sent.")
        return self._call_plan(name, {str(key): value for key, value in tool_arguments.items()})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON


class _Read(_Remote):
    """Reads a resource of a server."""

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the interface of a tool
        """Return the plan to read a resource; raises `ToolFailed` for an unknown server."""
        fields = _object(arguments)
        server, uri = str(fields.get("server") or ""), str(fields.get("uri") or "")
        connections = self._connections
        if server not in connections.servers:
            raise ToolFailed(
                f"Unknown MCP server {server!r} (expected one of {_names(connections)}). Nothing was sent."
            )

        async def run(context: ToolContext) -> ToolOutput:
            return await connections.read(server, uri, context)

        return Plan(
            effect="remote",
            title=f"read of {server}: {uri or 'its resources'}",
            host=connections.servers[server].host,
            tool=f"{server_prefix(server)}{READ}",
            remote=RemoteCall(server=server, tool="resources/read"),
            run=run,
        )


def _names(connections: McpConnections) -> str:
    return ", ".join(sorted(connections.servers)) or "none"


class _Find(_Remote):
    """Looks for tools. It starts the servers that the user configured, and calls no tool."""

    @property
    def effect(self) -> Effect:
        """Return `read`."""
        return "read"

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the interface of a tool
        """Return the plan of the search; raises `ToolFailed` for an unknown server."""
        fields = _object(arguments)
        query, server = str(fields.get("query") or ""), str(fields.get("server") or "")
        servers = self._connections.servers
        if server and server not in servers:
            raise ToolFailed(f"Unknown MCP server {server!r} (expected one of {', '.join(sorted(servers))}).")
        targets = (server,) if server else tuple(sorted(servers))

        async def run(context: ToolContext) -> ToolOutput:
            parts = [await self._search_server(each, query, context) for each in targets]
            return ToolOutput(text=cap("\n\n".join(filter(None, parts)) or "No tool was found.", _LONGEST_LIST))

        return Plan(effect="read", title=f"find tools: {query or 'all'}", run=run)

    async def _search_server(self, server: str, query: str, context: ToolContext) -> str:
        try:
            listed = await self._connections.listed(server, context.stop)
        except ToolFailed as failed:
            return str(failed)
        left_out = "".join(f"\n{each.name} cannot be used: {each.why}" for each in listed.unusable[:_MOST_NAMED])
        return f"{found_text(server, listed.tools, query)}{left_out}"


def found_text(server: str, tools: Sequence[ListedTool], query: str) -> str:
    """Return the tools that match a query, best first, with parameters; without a query, the names of all."""
    words = query.lower().split()
    named = names_for_model(server, tools)
    if not words:
        lines = [f"{name}: {_first_line(tool.description)}" for name, tool in named.items()]
        return f"Server {server} has {len(named)} tools.\n" + "\n".join(lines)
    scored = [
        (sum(3 * (word in name.lower()) + (word in tool.description.lower()) for word in words), name, tool)
        for name, tool in named.items()
    ]
    best = sorted((each for each in scored if each[0]), key=lambda each: (-each[0], each[1]))[:10]
    return "\n\n".join(
        f"{name}: {tool.description.strip()}\nParameters: {msgspec.json.encode(tool.parameters).decode()}"
        for _, name, tool in best
    )


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")[:_SHORT]


def _object(arguments: str) -> dict[str, object]:
    try:
        return decode_json(arguments or "{}", dict[str, object])
    except (msgspec.DecodeError, UnicodeError) as error:
        raise ToolFailed(f"The arguments are not a JSON object: {error}. Nothing was sent.") from error


# --- server tools ---


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
