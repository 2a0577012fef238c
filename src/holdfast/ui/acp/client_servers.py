"""The MCP servers that a client brings to a session.

They apply to this session only, and win over configured ones of the same name. Their values are used verbatim:
`${NAME}` is not replaced. Nothing is journalled, because headers and variables are secrets; the client sends the
servers again when it loads a session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import msgspec

from holdfast.tools.mcp.server_definition import McpServer
from holdfast.typed_data import convert_value
from holdfast.ui.acp.protocol.json_rpc import INVALID_PARAMS, RpcError

_SOURCE = "the editor"


class _Pair(msgspec.Struct, frozen=True):
    name: str
    value: str


class _Stdio(msgspec.Struct, frozen=True):
    name: str
    command: str
    args: tuple[str, ...] | None = ()
    env: tuple[_Pair, ...] | None = ()
    type: Literal["stdio"] = "stdio"


class _Remote(msgspec.Struct, frozen=True):
    name: str
    url: str
    type: Literal["http", "sse"]
    headers: tuple[_Pair, ...] | None = ()


def client_servers(entries: Sequence[object]) -> tuple[McpServer, ...]:
    """Return the servers that the client names. Raise `RpcError` for one that cannot be used."""
    return tuple(_server(each, place) for place, each in enumerate(entries, 1))


def _server(entry: object, place: int) -> McpServer:
    try:
        if isinstance(entry, dict) and "url" in entry:
            remote = convert_value(cast("object", entry), _Remote)
        else:
            local = convert_value(cast("object", entry), _Stdio)
            env = {each.name: each.value for each in local.env or ()}
            args = local.args or ()
            return McpServer(name=local.name, source=_SOURCE, command=local.command, args=args, env=env, verbatim=True)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_PARAMS, f"MCP server {place} cannot be used: {error}. Fix its settings.") from error
    if remote.type == "sse":
        raise RpcError(
            INVALID_PARAMS,
            f"MCP server {remote.name!r} cannot be used: its type 'sse' is outdated. Most such servers also speak "
            "'http': change type and url.",
        )
    headers = {each.name: each.value for each in remote.headers or ()}
    return McpServer(name=remote.name, source=_SOURCE, url=remote.url, headers=headers, verbatim=True)
