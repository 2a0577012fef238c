"""Connecting to a model without holding up the event loop for its library's import."""

from __future__ import annotations

import threading
from contextlib import suppress

from holdfast.agent.log import Log
from holdfast.agent.model import Model
from holdfast.agent.providers import Target
from holdfast.config import Limits
from holdfast.tools.thread import in_daemon


async def connect(target: Target, limits: Limits | None = None, *, log: Log | None = None) -> Model:
    """Return a connection to the target's model, whose HTTP goes to the `log` if there is one; raises `ModelUnusable`.

    The libraries it needs take a second to import, off the event loop and in a thread that the process does not wait
    for: a stop during that second is a stop at once.
    """

    def work() -> Model:
        from holdfast.agent.models import open_model  # noqa: PLC0415 - the point of this function

        return open_model(target, limits=limits, log=log)

    return await in_daemon(work)


def preload(target: Target) -> None:
    """Begin to import what `connect` will need, while there is a disk to wait for."""

    def work() -> None:
        with suppress(Exception):  # `connect` meets it again, and tells
            import holdfast.agent.models  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] - the point of it
            from holdfast.agent.wires import wire_of  # noqa: PLC0415 - the point of this function

            wire_of(target.provider.kind)

    threading.Thread(target=work, name="import of the provider's library", daemon=True).start()
