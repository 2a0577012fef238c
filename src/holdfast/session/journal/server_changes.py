"""What changes in the MCP servers of a session, as entries of its journal."""

from __future__ import annotations

import msgspec

from holdfast.tool_calls import ToolSchema


class ToolsChanged(msgspec.Struct, frozen=True, tag_field="kind", tag="tools-changed", omit_defaults=True):
    """Later requests declare `tools`: all of them. Only between turns; on any branch. `note` opens the next message."""

    tools: tuple[ToolSchema, ...]
    note: str = ""


class ServerFailed(msgspec.Struct, frozen=True, tag_field="kind", tag="server-failed", omit_defaults=True):
    """The MCP server `server` failed for `reason`; its `tools`, by the names the model knows, cannot be called now.

    Valid anywhere, also in a turn; it survives a rewind, as the failure does. `note`, if any, opens the next user
    message. It changes no declaration: `ToolsChanged` does, before the next prompt.
    """

    server: str
    reason: str
    tools: tuple[str, ...] = ()
    note: str = ""
