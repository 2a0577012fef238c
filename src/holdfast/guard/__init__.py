"""A guard in a program's own client: a request that its provider would refuse is sent repaired.

import httpx2
from holdfast.guard import guarded

client = httpx2.AsyncClient(transport=guarded(httpx2.AsyncHTTPTransport()))

`GuardAdapter` does the same in requests, `guard_middleware` in aiohttp; below them all is `request_repair`.
docs/reference/guard.md has the laws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.guard.guarded_request import GuardMode, Mend
from holdfast.guard.http_transports import guarded
from holdfast.guard.request_repair import mended

if TYPE_CHECKING:
    from holdfast.guard.aiohttp_client import guard_middleware
    from holdfast.guard.requests_adapter import GuardAdapter

__all__ = ["GuardAdapter", "GuardMode", "Mend", "guard_middleware", "guarded", "mended"]


def __getattr__(name: str) -> object:
    """Return what needs another library, which is imported with it."""
    if name == "GuardAdapter":
        from holdfast.guard.requests_adapter import GuardAdapter

        return GuardAdapter
    if name == "guard_middleware":
        from holdfast.guard.aiohttp_client import guard_middleware

        return guard_middleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
