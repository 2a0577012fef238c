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
from holdfast.tools.mcp.tool_names import server_name_fault, server_word
from holdfast.typed_data import convert_value
from holdfast.ui.json_rpc.messages import INVALID_PARAMS, RpcError

MOST_SERVERS = 100
"""Servers of one session."""

LONGEST_SERVER_VALUE = 100_000
"""Characters of each text of a server."""

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
    if len(entries) > MOST_SERVERS:
        raise RpcError(INVALID_PARAMS, f"There are {len(entries)} MCP servers (at most {MOST_SERVERS}). Send fewer.")
    servers = tuple(_server(each, place) for place, each in enumerate(entries, 1))
    for place, server in enumerate(servers, 1):
        if why := _fault(server):
            raise RpcError(INVALID_PARAMS, f"MCP server {place} cannot be used: {why}. Fix its settings.")
    words: dict[str, str] = {}
    for server in servers:
        word = server_word(server.name).lower()
        if word in words:
            raise RpcError(
                INVALID_PARAMS,
                f"MCP servers {words[word]!r} and {server.name!r} cannot be used together: their tools would have the "
                "same names. Rename one of them.",
            )
        words[word] = server.name
    return servers


def _fault(server: McpServer) -> str:  # noqa: PLR0911 - one for each reason
    """Return why a server cannot be used, "" if it can."""
    if why := server_name_fault(server.name):
        return why
    if not server.command and not server.url:
        return "it has neither a command nor a url"
    if server.url and not server.url.startswith(("http://", "https://")):
        return "its url does not begin with http:// or https://"
    texts = (server.command, *server.args, server.url)
    pairs = (*server.env.items(), *server.headers.items())
    for text in (*texts, *(part for pair in pairs for part in pair)):
        if "\0" in text or len(text) > LONGEST_SERVER_VALUE:
            return f"one of its values has a NUL, or more than {LONGEST_SERVER_VALUE} characters"
    if any(not name or "=" in name for name in server.env):
        return "the name of a variable is empty, or has a '='"
    if any(character in text for pair in server.headers.items() for text in pair for character in "\r\n"):
        return "one of its headers has a line break"
    return ""


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
