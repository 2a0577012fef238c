"""What is known of the MCP servers of a run: why each failed when it was last needed, or that it works.

The sessions of the run share it, also with what asked the servers for their tools before there was a session.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.text import printable, valid_unicode

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
