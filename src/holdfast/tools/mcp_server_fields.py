"""The fields of an MCP server, shared by all files that configure one.

Outside `holdfast.tools.mcp`, because every start reads the config, and most starts have no server.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

_Time = Annotated[float, msgspec.Meta(gt=0)]


class McpServerFields(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Either `command` with `args`, `env` and `cwd`, or `url` with `headers`.

    `timeout` limits each call, `idle_timeout` the time in it without an answer or progress; None: the default. With
    `declare`, a new session declares its tools whatever their size. With `trust_hints`, calls of tools that the server
    marks as read-only need no approval. With `sandbox`, a `command` runs behind the wall of confined commands, and
    reaches only the hosts in `network`.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    timeout: _Time | None = None
    idle_timeout: _Time | None = None
    declare: bool = False
    trust_hints: bool = False
    sandbox: bool = False
    network: tuple[str, ...] = ()
