"""The listener to an agent's events. What it hears is on disk already, so one that fails stops nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.agent.events import Event


def heard_by(emit: Callable[[Event], None]) -> Callable[[Event], None]:
    """Return a callback that passes on each event, and the first exception of `emit` to the event loop's handler.

    A print to a pipe that closed, or a fault of an author's screen, would otherwise leave a turn half done: the next
    event is passed on as if nothing had happened. Without a handler of the author's, asyncio logs the exception.
    """
    has_failed = False

    def heard(event: Event) -> None:
        nonlocal has_failed
        try:
            emit(event)
        except Exception as error:  # noqa: BLE001 - an author's function: the turn is not its to end
            if not has_failed:
                has_failed = True
                sentence = "emit raised an exception. The turn goes on. Further exceptions of it are not reported."
                asyncio.get_running_loop().call_exception_handler({"message": sentence, "exception": error})

    return heard
