"""What changes in the tools of a session and in its MCP servers, as entries of its journal."""

from __future__ import annotations

import msgspec

from holdfast.tool_calls import ToolSchema


class ToolsChanged(msgspec.Struct, frozen=True, tag_field="kind", tag="tools-changed", omit_defaults=True):
    """Later requests declare `tools`: all of them. On any branch. `note` opens the next message.

    `added` is whether none was changed or removed. Only then it may stand in a turn, and signed thinking stays: a turn
    with calls cannot go on without it.
    """

    tools: tuple[ToolSchema, ...]
    note: str = ""
    added: bool = False


class ServerFailed(msgspec.Struct, frozen=True, tag_field="kind", tag="server-failed", omit_defaults=True):
    """The MCP server `server` failed for `reason`; its `tools`, by the names the model knows, cannot be called now.

    Valid anywhere, also in a turn; it survives a rewind, as the failure does. `note`, if any, opens the next user
    message. It changes no declaration: `ToolsChanged` does, before the next prompt.
    """

    server: str
    reason: str
    tools: tuple[str, ...] = ()
    note: str = ""
