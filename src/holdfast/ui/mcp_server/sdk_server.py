"""The MCP server on the official SDK, for both eras of the protocol. Importing it takes more than a second.

A request that the client cancels ends here; the session that it started or reads continues.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from holdfast import __version__
from holdfast.ui.acp.protocol.refusals import Refusals
from holdfast.ui.json_rpc.descriptors import move_descriptors
from holdfast.ui.json_rpc.messages import RpcError
from holdfast.ui.mcp_server.delegated_sessions import DelegatedSessions
from holdfast.ui.mcp_server.line_streams import line_streams
from holdfast.ui.mcp_server.session_tools import SERVER_INSTRUCTIONS, TOOLS, call_tool

_Context = ServerRequestContext[dict[str, object]]


async def serve_sessions(sessions: DelegatedSessions, refusals: Refusals) -> None:
    """Serve on standard input and output until the client closes its end."""
    server: Server[dict[str, object]] = Server(
        "holdfast",
        version=__version__,
        title="holdfast",
        instructions=SERVER_INSTRUCTIONS,
        on_list_tools=_list,
        on_call_tool=_caller(sessions, refusals),
    )
    async with line_streams(*move_descriptors()) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list(context: _Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    del context, params
    tools = [
        types.Tool(
            name=each.name,
            title=each.title,
            description=each.description,
            input_schema=each.parameters,
            annotations=types.ToolAnnotations(read_only_hint=each.read_only, destructive_hint=not each.read_only),
        )
        for each in TOOLS
    ]
    return types.ListToolsResult(tools=tools)


def _caller(
    sessions: DelegatedSessions, refusals: Refusals
) -> Callable[[_Context, types.CallToolRequestParams], Awaitable[types.CallToolResult]]:
    async def call(context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        async def progress(entries: int, doing: str) -> None:
            await context.session.report_progress(float(entries), None, doing or None)

        refused: list[RpcError] = []
        with refusals.to(refused.append):
            reply = await call_tool(params.name, params.arguments or {}, sessions=sessions, progress=progress)
            return types.CallToolResult(content=[_text(reply.text)], structured_content=reply.data)
        return types.CallToolResult(content=[_text(str(refused[0]))], is_error=True)

    return call


def _text(text: str) -> types.ContentBlock:
    return types.TextContent(type="text", text=text)
