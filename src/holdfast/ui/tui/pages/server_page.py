"""The page of MCP servers: what each is, whether it is connected or why not, and its last log lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.host.events import ServersShown
from holdfast.text import literal
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.server_state import STDERR, ServerState
from holdfast.ui.commands.mcp import mcp_server_lines, server_details
from holdfast.ui.tui.choices import CommandTarget
from holdfast.ui.tui.widgets.help_pages import lines_page

if TYPE_CHECKING:
    from holdfast.tools.mcp.connections import McpSettings

_LOG = 3


def show_servers(shown: ServersShown, target: CommandTarget) -> None:
    """Open the page."""
    lines = server_lines(shown, target.controller.options.mcp)
    title = f"MCP server {shown.server}" if shown.server else "MCP servers"
    target.dialogs.read(lines_page(literal(title), [literal(each) for each in lines]))


def server_lines(shown: ServersShown, settings: McpSettings | None) -> list[str]:
    """Return the lines of the page: of all servers, or of one with its full log."""
    servers: tuple[McpServer, ...] = () if settings is None else settings.servers
    states = {each.server: each for each in shown.states}
    lines: list[str] = []
    if not shown.server:
        named = {name for name in shown.failures if name not in states or states[name].state == "not started"}
        failed = named | {each.server for each in shown.states if each.state == "failed"}
        lines += [*mcp_server_lines(settings, failed=failed), *([""] * bool(servers))]
    for server in servers:
        if shown.server in ("", server.name):
            state = states.get(server.name, ServerState(server=server.name))
            if shown.server:
                lines += server_details(server)
            lines += _state_lines(state, shown.failures.get(server.name, ""), server, alone=bool(shown.server))
    if servers and not shown.server:
        lines += ["", "/mcp SERVER shows one with its log, /mcp restart SERVER starts it again."]
    return lines


def _state_lines(state: ServerState, earlier: str, server: McpServer, *, alone: bool) -> Iterator[str]:
    """Yield the lines of one server; `earlier` is why holdfast could not reach it at the start."""
    why = state.why
    name = state.state
    if name == "not started" and earlier:
        name, why = "failed", earlier
    version = f", {state.version.strip()}" if state.version.strip() else ""
    needs = "needs sign-in" if "holdfast mcp login" in why else name
    confined = f", {server.confinement}" if server.sandbox and name in ("starting", "connected") else ""
    yield f"{state.server}: {needs}{version}{confined}"
    first, *rest = why.strip().splitlines() or [""]
    if first:
        yield f"  {first.removesuffix(STDERR).rstrip()}"
    for each in state.unusable:
        yield f"  Tool {each.name} cannot be used: {each.why}"
    if state.skipped:
        yield f"  {state.skipped} lines of its output were no messages and were skipped."
    log = state.log.splitlines() or rest
    if log:
        yield f"  {STDERR}"
        yield from (f"    {line}" for line in (log if alone else log[-_LOG:]))
