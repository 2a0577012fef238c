"""Connect to a model without blocking the event loop while its modules are imported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable
from holdfast.providers.http_observer import HttpObserver
from holdfast.providers.model import Model
from holdfast.providers.registry import ModelEndpoint
from holdfast.system.threads import in_daemon

if TYPE_CHECKING:
    import httpx2


async def connect(target: ModelEndpoint, limits: Limits | None = None, *, log: HttpObserver | None = None) -> Model:
    """Return a connection to the target's model; its HTTP traffic goes to `log`, if given. Raise `ModelUnusable`.

    What it needs is imported in a thread that the process does not wait for, so a stop takes effect immediately;
    pydantic-ai takes more than a second.
    """

    def work() -> Model:
        return open_model(target, limits=limits, log=log)

    return await in_daemon(work)


def open_model(
    target: ModelEndpoint,
    *,
    limits: Limits | None = None,
    http: Callable[[], httpx2.AsyncClient] | None = None,
    log: HttpObserver | None = None,
) -> Model:
    """Return a connection to the target's model. Nothing is sent yet. Raise `ModelUnusable`.

    `http` creates the HTTP client (default: pooled connections with the `limits` for connecting and writing).
    """
    if target.provider.through_pydantic_ai:
        return _inferred(target)
    from holdfast.providers.http_model import connected  # noqa: PLC0415 - imported when a request needs it
    from holdfast.providers.protocols import protocol_of  # noqa: PLC0415 - imported when a request needs it

    return connected(target, protocol_of(target.provider.kind), limits=limits or Limits(), http=http, log=log)


def _inferred(target: ModelEndpoint) -> Model:
    try:
        from holdfast.providers.pydantic_ai.inferred_model import infer  # noqa: PLC0415 - an extra, and it takes a second
    except ModuleNotFoundError as error:
        raise ModelUnusable(
            f"Model {target.name!r} needs pydantic-ai: the module {error.name!r} is not installed. "
            'Install it: pip install "holdfast[pydantic-ai]".'
        ) from error
    return infer(target)


def preload(target: ModelEndpoint) -> None:
    """Start to import what `connect` will need, while the caller waits for the disk."""

    def work() -> None:
        with suppress(Exception):  # `connect` raises the same error and reports it
            if target.provider.through_pydantic_ai:
                import holdfast.providers.pydantic_ai.inferred_model  # noqa: PLC0415 # pyright: ignore[reportUnusedImport] - the point of it
            else:
                import holdfast.providers.http_model  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] - the point of it
                from holdfast.providers.protocols import protocol_of  # noqa: PLC0415 - the point of this function

                protocol_of(target.provider.kind)

    threading.Thread(target=work, name="import of the provider's library", daemon=True).start()
