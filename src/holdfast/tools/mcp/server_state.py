"""The state of a server in a session: whether it is connected, why not, and its last lines on stderr.

What is known of the MCP servers of a run: why each failed when it was last needed, or that it works.

The sessions of the run share it, also with what asked the servers for their tools before there was a session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from holdfast.text import printable, valid_unicode
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


# --- server reports ---

LONGEST_REASON = 1_000
"""Characters of a reason."""


class ServerReports:
    """The last report on each server that was needed."""

    def __init__(self) -> None:
        self._reports: dict[str, str] = {}

    def failed(self, server: str, reason: str) -> None:
        """Report that a server cannot be reached."""
        lines = (printable(valid_unicode(line)) for line in reason.strip().splitlines())
        self._reports[server] = "\n".join(lines)[:LONGEST_REASON] or "no reason was given"

    def works(self, server: str) -> None:
        """Report that a server can be reached."""
        self._reports[server] = ""

    @property
    def reports(self) -> Mapping[str, str]:
        """Return why each server failed, "" for one that works."""
        return dict(self._reports)
