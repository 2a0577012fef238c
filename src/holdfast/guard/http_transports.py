"""The guard for clients of httpx and httpx2, which the SDKs of the vendors use: a transport around their transport."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

from holdfast.errors import UsageError
from holdfast.guard.guarded_request import GuardMode, Mend, RequestGuard
from holdfast.guard.request_repair import Texts

Transport = TypeVar("Transport")

_LIBRARIES = ("httpx2", "httpx")


def guarded(
    transport: Transport,
    *,
    ledger: Texts | None = None,
    on_mend: Callable[[Mend], object] | None = None,
    mode: GuardMode = "repair",
) -> Transport:
    """Return a transport that repairs requests which the provider would refuse, and hands all others to this one.

    `transport` is one of httpx or httpx2, for a sync or an async client. `on_mend` is called before a repaired request
    is sent. With `mode="report"` nothing is ever changed.
    """
    for library in _LIBRARIES:
        if (module := sys.modules.get(library)) is not None:
            for base, make in ((module.BaseTransport, _sync), (module.AsyncBaseTransport, _async)):
                if isinstance(transport, base):
                    return cast("Transport", make(base, module, transport, RequestGuard(ledger, on_mend, mode)))
    raise UsageError(
        f"Cannot guard an object of the class {type(transport).__name__!r} (expected a transport of httpx or httpx2, "
        "for example httpx.HTTPTransport())."
    )


def _sync(base: Any, library: Any, inner: Any, guard: RequestGuard) -> object:  # noqa: ANN401 - objects of a library
    class GuardedTransport(base):
        def handle_request(self, request: Any) -> Any:  # noqa: ANN401 - likewise
            body = _body_of(request, library)
            new = None if body is None else guard.body(str(request.url), request.headers, body)
            return inner.handle_request(request if new is None else _with_body(request, new))

        def close(self) -> None:
            inner.close()

    return GuardedTransport()


def _async(base: Any, library: Any, inner: Any, guard: RequestGuard) -> object:  # noqa: ANN401 - likewise
    class AsyncGuardedTransport(base):
        async def handle_async_request(self, request: Any) -> Any:  # noqa: ANN401 - likewise
            body = _body_of(request, library)
            new = None if body is None else await guard.body_async(str(request.url), request.headers, body)
            return await inner.handle_async_request(request if new is None else _with_body(request, new))

        async def aclose(self) -> None:
            await inner.aclose()

    return AsyncGuardedTransport()


def _body_of(request: Any, library: Any) -> bytes | None:  # noqa: ANN401 - likewise
    """Return the body of a request with one, None if it is a stream: reading it would keep it from being sent."""
    if request.method != "POST":
        return None
    try:
        return cast("bytes", request.content)
    except library.RequestNotRead:
        return None


def _with_body(request: Any, body: bytes) -> Any:  # noqa: ANN401 - likewise
    """Return a new request with another body, of whose headers only the length differs."""
    length = str(len(body)).encode()
    headers = [(key, length if key.lower() == b"content-length" else value) for key, value in request.headers.raw]
    return type(request)(request.method, request.url, headers=headers, content=body, extensions=request.extensions)
