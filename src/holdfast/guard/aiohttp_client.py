"""The guard for sessions of aiohttp (3.12 or newer): a middleware of the client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp.payload import BytesPayload

from holdfast.guard.guarded_request import GuardMode, Mend, RequestGuard
from holdfast.guard.request_repair import Texts

Middleware = Callable[[Any, Callable[[Any], Awaitable[Any]]], Awaitable[Any]]


def guard_middleware(
    *, ledger: Texts | None = None, on_mend: Callable[[Mend], object] | None = None, mode: GuardMode = "repair"
) -> Middleware:
    """Return a middleware that repairs requests which the provider would refuse.

    `aiohttp.ClientSession(middlewares=(guard_middleware(),))`
    """
    guard = RequestGuard(ledger, on_mend, mode)

    async def repair_request(request: Any, send: Callable[[Any], Awaitable[Any]]) -> Any:  # noqa: ANN401 - as aiohttp has it
        if request.method == "POST" and isinstance(request.body, BytesPayload):
            body = await request.body.as_bytes()
            new = await guard.body_async(str(request.url), request.headers, body)
            if new is not None:
                await request.update_body(new)
        return await send(request)

    return repair_request
