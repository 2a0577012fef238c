"""The session's connection to its model: opened when a request needs it, closed completely.

A closed connection leaves nothing open. Opening and closing both have a time limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from holdfast.agent.cancellation import DetachedTasks, StopSignal
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.model import Model

LOADING = 600.0
"""Seconds allowed for importing a provider's libraries. Nothing has been sent yet, so no request limit applies."""


class Connection:
    """At most one open model, with its name. A connection that does not close in time goes to `detached`."""

    def __init__(self, connect: Callable[[str], Awaitable[Model]], limits: Limits, detached: DetachedTasks) -> None:
        self._connect = connect
        self._limits = limits
        self._detached = detached
        self._model: Model | None = None

    async def model(self, name: str, stop: StopSignal) -> Model:
        """Return the connected model; raises `ProviderFailed`, or `TurnStopped` on a stop."""
        if self._model is None or self._model.name != name:
            await self.drop()
            try:
                await stop.race(self._open(name), LOADING)
            except TimeoutError:
                raise ProviderFailed(
                    f"Model {name!r} cannot be used: importing its library took longer than {LOADING:g} s. Nothing was "
                    "sent to its provider.",
                    fault="not_loaded",
                ) from None
        assert self._model is not None
        return self._model

    async def _open(self, name: str) -> None:
        """Connect and keep the connection at once, so that a stop at this moment still closes it."""
        self._model = await self._connect(name)

    async def drop(self) -> None:
        """Close the connection within `limits.drop_wait`. Nothing of an interrupted request stays open."""
        model, self._model = self._model, None
        if model is not None:
            closing = asyncio.ensure_future(model.aclose())
            done, late = await asyncio.wait({closing}, timeout=self._limits.drop_wait)
            for task in late:
                self._detached.add(task)
            for task in done:
                task.exception()  # a connection that fails to close is dropped anyway
