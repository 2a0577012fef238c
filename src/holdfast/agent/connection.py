"""The connection of a session to its model: made when a request needs it, given up whole.

Two rules. Nothing of a connection that is given up stays open. Neither making nor closing one is waited for without a
bound.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from holdfast.agent.abandoned import Abandoned
from holdfast.agent.model import Model
from holdfast.agent.stop import Stop
from holdfast.config import Limits
from holdfast.errors import ProviderFailed

LOADING = 600.0
"""Seconds that loading a provider's libraries may take: nothing is asked of it then, so none of its limits counts."""


class Connection:
    """At most one model at a time, by its name; what does not close in time goes to `abandoned`."""

    def __init__(self, connect: Callable[[str], Awaitable[Model]], limits: Limits, abandoned: Abandoned) -> None:
        self._connect = connect
        self._limits = limits
        self._abandoned = abandoned
        self._model: Model | None = None

    async def model(self, name: str, stop: Stop) -> Model:
        """Return the model of that name, connected to; raises `ProviderFailed`, `Left` on a stop."""
        if self._model is None or self._model.name != name:
            await self.drop()
            try:
                await stop.race(self._open(name), LOADING)
            except TimeoutError:
                raise ProviderFailed(
                    f"Libraries of model {name!r} were not loaded within {LOADING:g} s, as was expected. Nothing was "
                    "sent to its provider: this machine or its disk is too slow. Try again when it is less busy.",
                    fault="rejected",
                ) from None
        assert self._model is not None
        return self._model

    async def _open(self, name: str) -> None:
        """Connect; what was connected to is kept at once, so that a stop at that moment leaves it to be dropped."""
        self._model = await self._connect(name)

    async def drop(self) -> None:
        """Close the connection within `limits.drop_wait`: nothing of an interrupted request stays."""
        model, self._model = self._model, None
        if model is not None:
            closing = asyncio.ensure_future(model.aclose())
            done, late = await asyncio.wait({closing}, timeout=self._limits.drop_wait)
            for task in late:
                self._abandoned.add(task)
            for task in done:
                task.exception()  # a connection that fails to close is closed
