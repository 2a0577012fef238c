"""The state of a server in a session: whether it is connected, why not, and its last lines on stderr."""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.tools.mcp.stored_tools import UnusableTool

StateName = Literal["not started", "starting", "connected", "failed", "ended"]

STDERR = "Its last lines on stderr:"
"""Before what a server wrote, in the reason why it failed."""


class ServerState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one server; `why` is a sentence if it failed or ended, `version` is what it calls itself.

    `unusable` are the tools that were left out of its list.
    `skipped` is how many lines of its output were not messages, `log` has the last lines of its stderr.
    """

    server: str
    state: StateName = "not started"
    why: str = ""
    version: str = ""
    tools: int = 0
    unusable: tuple[UnusableTool, ...] = ()
    skipped: int = 0
    log: str = ""
