"""The numbers that the descriptors of a wall have when bubblewrap begins."""

from __future__ import annotations

FILTER_FD, STATUS_FD, CHANNEL_FD = 3, 4, 5
"""The seccomp program, where bubblewrap writes how it goes, and the way to the proxy."""

STATUS_OPTION = "--json-status-fd"
"""bubblewrap reports how it goes where this is among its words."""
