"""Connecting to a model without holding up the event loop for its library's import."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from contextlib import suppress

from holdfast.agent.model import Model
from holdfast.agent.providers import Target
from holdfast.errors import ModelUnusable


def preload(target: Target) -> None:
    """Begin to import what `connect` will need, while there is a disk to wait for; what goes wrong is its to tell."""

    def run() -> None:
        with suppress(ImportError, ModelUnusable):
            from holdfast.agent.models import builder  # noqa: PLC0415 - the point of this function

            builder(target.provider.name)

    _begin(run)


async def connect(target: Target) -> Model:
    """Return a connection to the target's model; raises `ModelUnusable`.

    The libraries it needs take a second to import, off the event loop and in a thread that the process does not wait
    for: a stop during that second is a stop at once.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Model] = loop.create_future()

    def deliver(give: Callable[[], None]) -> None:
        if not future.done():
            give()

    def run() -> None:
        try:
            from holdfast.agent.models import open_model  # noqa: PLC0415 - the point of this function

            model = open_model(target)
        except Exception as error:  # noqa: BLE001 - handed to whoever awaits
            give = functools.partial(future.set_exception, error)
        else:
            give = functools.partial(future.set_result, model)
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, give)

    _begin(run)
    return await future


def _begin(run: Callable[[], None]) -> None:
    threading.Thread(target=run, name="import of the provider's library", daemon=True).start()
