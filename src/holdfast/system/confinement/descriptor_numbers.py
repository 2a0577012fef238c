"""The numbers that the descriptors of a wall have when bubblewrap begins."""

from __future__ import annotations

FILTER_FD, CHANNEL_FD, GO_FD, READY_FD = 3, 5, 6, 7
"""The seccomp program, the way to the proxy, and the pipes of a start: the word to begin, and that it is waited for."""

WAITS_OPTION = "--as-pid-1"
"""The first process inside waits for the word to begin where this is among bubblewrap's words."""
