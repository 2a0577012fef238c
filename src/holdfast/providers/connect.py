"""Connect to a model without blocking the event loop while its SDK is imported."""

from __future__ import annotations

import threading
from contextlib import suppress

from holdfast.config.settings import Limits
from holdfast.providers.http_observer import HttpObserver
from holdfast.providers.model import Model
from holdfast.providers.registry import ModelEndpoint
from holdfast.system.threads import in_daemon


async def connect(target: ModelEndpoint, limits: Limits | None = None, *, log: HttpObserver | None = None) -> Model:
    """Return a connection to the target's model; its HTTP traffic goes to `log`, if given. Raise `ModelUnusable`.

    The SDK takes about a second to import. That happens in a thread that the process does not wait for, so a stop
    during that second takes effect immediately.
    """

    def work() -> Model:
        from holdfast.providers.pydantic_ai.model import open_model  # noqa: PLC0415 - the point of this function

        return open_model(target, limits=limits, log=log)

    return await in_daemon(work)


def preload(target: ModelEndpoint) -> None:
    """Start to import what `connect` will need, while the caller waits for the disk."""

    def work() -> None:
        with suppress(Exception):  # `connect` raises the same error and reports it
            import holdfast.providers.pydantic_ai.model  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] - the point of it
            from holdfast.providers.pydantic_ai.sdk_protocols import sdk_protocol_of  # noqa: PLC0415 - the point of this function

            sdk_protocol_of(target.provider.kind)

    threading.Thread(target=work, name="import of the provider's library", daemon=True).start()
