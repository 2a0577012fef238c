"""Connect to a model without blocking the event loop while its modules are imported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, cast

from holdfast.config.settings import Limits
from holdfast.errors import HoldfastError, ModelUnusable
from holdfast.providers.model import HttpObserver, Model
from holdfast.providers.registry import ModelEndpoint
from holdfast.system.threads import in_daemon
from holdfast.text import error_text

if TYPE_CHECKING:
    import httpx2

_THROUGH_PYDANTIC_AI = "holdfast.providers.pydantic_ai.inferred_model:infer"
"""What makes the model of an endpoint that pydantic-ai speaks to: an extra, and its import takes a second."""


async def connect(target: ModelEndpoint, limits: Limits | None = None, *, log: HttpObserver | None = None) -> Model:
    """Return a connection to the target's model; its HTTP traffic goes to `log`, if given. Raise `ModelUnusable`.

    Modules are imported in a daemon thread, so a stop takes effect immediately: importing pydantic-ai takes more than a
    second.
    """

    def import_and_open() -> Model:
        return open_model(target, limits=limits, log=log)

    return await in_daemon(import_and_open)


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
        return _pydantic_ai_model(target)
    if target.provider.opener is not None:
        return _opened(target.provider.opener, target)
    from holdfast.providers.http_model import create_http_model
    from holdfast.providers.protocols import protocol_of

    return create_http_model(target, protocol_of(target.provider.kind), limits=limits or Limits(), http=http, log=log)


def _opened(opener: Callable[[ModelEndpoint], Model], target: ModelEndpoint) -> Model:
    try:
        return opener(target)
    except HoldfastError:
        raise
    except Exception as error:  # the provider boundary: a plug-in's function may raise anything
        raise ModelUnusable(
            f"Model {target.name!r} cannot be opened: its plug-in failed with {error_text(error)}. "
            "Fix the plug-in, or choose another model."
        ) from error


def _pydantic_ai_model(target: ModelEndpoint) -> Model:
    try:
        infer = cast("Callable[[ModelEndpoint], Model]", resolve_name(_THROUGH_PYDANTIC_AI))
    except ModuleNotFoundError as error:
        raise ModelUnusable(
            f"Model {target.name!r} needs pydantic-ai: the module {error.name!r} is not installed. "
            'Install it: pip install "holdfast[pydantic-ai]".'
        ) from error
    return infer(target)


def preload(target: ModelEndpoint) -> None:
    """Start importing the modules that `connect` needs, while the caller waits for the disk."""

    def import_modules() -> None:
        with suppress(Exception):  # `connect` raises the same error and reports it
            if target.provider.through_pydantic_ai:
                resolve_name(_THROUGH_PYDANTIC_AI)
            elif target.provider.opener is None:
                import holdfast.providers.http_model  # noqa: F401 # pyright: ignore[reportUnusedImport] - the point of it
                from holdfast.providers.protocols import protocol_of  # the point of this function

                protocol_of(target.provider.kind)

    threading.Thread(target=import_modules, name="import of the provider's library", daemon=True).start()
