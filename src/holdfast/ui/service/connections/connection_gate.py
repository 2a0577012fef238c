"""How many connections the server takes: few from callers that it does not know yet, and never the last descriptors.

A caller is known once a request of its connection had a valid token. Until then it could be anyone, so its connection
counts against a limit per address and one for all. Known callers are limited only by the descriptors of the process:
the kernel gives out the lowest free number, so the number of a new socket says how many are in use at least.
"""

from __future__ import annotations

import resource
from collections import Counter

import msgspec


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What a connection may take. `reserved` descriptors stay free for commands and journals.

    asyncio accepts up to `backlog` connections in one turn of its loop, and shows one to the gate two turns later.
    """

    per_address: int = 64
    unknown: int = 256
    head_seconds: float = 10.0
    head_bytes: int = 16 * 1024
    stalled_seconds: float = 60.0
    reserved: int = 32
    backlog: int = 32


class ConnectionGate:
    """Counts the connections of unknown callers. Used on the server's event loop only."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._unknown: Counter[str] = Counter()

    def refusal(self, address: str, descriptor: int) -> str:
        """Return why a new connection is refused, "" after it was counted."""
        limits = self.limits
        most_open, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        unseen = 3 * limits.backlog  # so many may be accepted before the first of them is looked at
        if most_open != resource.RLIM_INFINITY and descriptor >= most_open - limits.reserved - unseen:
            return "Too many connections are open. Close some, or raise the limit of open files (ulimit -n)."
        if self._unknown[address] >= limits.per_address:
            return f"Too many connections without a token from {address} (at most {limits.per_address})."
        if self._unknown.total() >= limits.unknown:
            return f"Too many connections without a token (at most {limits.unknown}). Try again soon."
        self._unknown[address] += 1
        return ""

    def release(self, address: str) -> None:
        """Count one connection less: its caller is known now, or it was closed."""
        self._unknown[address] -= 1
        if self._unknown[address] <= 0:
            del self._unknown[address]
