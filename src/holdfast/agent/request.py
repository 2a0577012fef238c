"""One request after another: each sent until a response is journalled, or no attempt is left.

Two rules. An attempt is in the journal before it is sent, and so is how it failed. What was shown is not asked for
again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from holdfast.agent.abandoned import Abandoned
from holdfast.agent.connection import Connection
from holdfast.agent.events import Event
from holdfast.agent.limits import retry_delay, without_streaming
from holdfast.agent.model import Finish
from holdfast.agent.seeing import refusal
from holdfast.agent.stop import Stop
from holdfast.agent.stream import Stream
from holdfast.agent.turn import Signal
from holdfast.config import Limits
from holdfast.errors import ProviderFailed
from holdfast.session.conversation import Conversation
from holdfast.session.entries import (
    CallPart,
    RequestFailed,
    RequestStarted,
    ResponseCheckpoint,
    ResponseEnded,
)
from holdfast.text import valid_unicode


class Asking(Protocol):
    """What requests need of the turn they belong to."""

    def append(self, *entries: RequestStarted | RequestFailed | ResponseCheckpoint | ResponseEnded) -> None:
        """Append durably, fold, then tell."""
        ...

    def to(self, signal: Signal) -> None:
        """Move the turn along its table."""
        ...

    def knows_call(self, call: str) -> bool:
        """Return whether the id was ever given to a call of this session."""
        ...


class Requests:
    """The requests of one turn."""

    def __init__(  # noqa: PLR0913 - what requests are made with
        self,
        turn: Asking,
        stop: Stop,
        *,
        connection: Connection,
        abandoned: Abandoned,
        emit: Callable[[Event], None],
        limits: Limits,
        can_shorten: Callable[[], bool],
        shorten: Callable[[], Awaitable[Conversation | None]],
        admitted: Callable[[], Conversation],
    ) -> None:
        """Send by the `connection`; `shorten` gives what is left of a conversation that is too long, None if all is.

        `admitted` gives what may be sent by now, where what is journalled has changed it.
        """
        self._turn = turn
        self._stop = stop
        self._connection = connection
        self._abandoned = abandoned
        self._emit = emit
        self._limits = limits
        self._can_shorten = can_shorten
        self._shorten = shorten
        self._admitted = admitted
        self._stream: Stream | None = None
        self._cut_calls: tuple[str, ...] = ()

    async def send(self, sent: Conversation) -> Finish:
        """Send the conversation until a response is journalled; raises `ProviderFailed` when no attempt is left."""
        number = sent.steps + 1
        limits = self._limits.of(sent.model)
        attempt = 0
        whole, fell_back, shortened = False, False, False
        left_out: set[str] = set()  # the faults that images were left out for
        while True:
            attempt += 1
            model = await self._connection.model(sent.model, self._stop)
            self._turn.append(RequestStarted(step=number, attempt=attempt, model=model.name))
            self._turn.to(Signal.SEND)
            stream = self._stream = Stream(
                number,
                model,
                whole=whole,
                limits=limits,
                abandoned=self._abandoned,
                append=self._turn.append,
                emit=self._emit,
            )
            try:
                finished = await stream.run(sent, self._stop, on_event=lambda: self._turn.to(Signal.EVENT))
            except ProviderFailed as failed:
                too_long = failed.fault == "too_long" and not (shortened or stream.shown) and self._can_shorten()
                images = None if stream.shown else refusal(failed, sent)
                images = None if images in left_out else images
                changed = too_long or images is not None
                delay = 0.0 if changed else retry_delay(failed, attempt, limits=limits, shown=stream.shown, whole=whole)
                whole = delay is not None and without_streaming(failed, fell_back=fell_back)
                fell_back = fell_back or whole
                stream.checkpoint()
                self._turn.append(
                    RequestFailed(
                        step=number,
                        attempt=attempt,
                        fault=images or failed.fault,
                        message=valid_unicode(str(failed)),
                        status=failed.status,
                        retry_in=delay,
                        attempts=limits.attempts,
                        retry_whole=whole,
                    )
                )
                if delay is None:
                    raise
                self._turn.to(Signal.FAIL)
                await self._connection.drop()
                if too_long:
                    shortened, shorter = True, await self._shorten()
                    if shorter is None:
                        raise
                    sent = shorter
                elif images is not None:
                    left_out.add(images)
                    sent = self._admitted()
                else:
                    await self._stop.race(asyncio.sleep(delay))
                continue
            session = sent.opened.session if sent.opened else ""
            ended = stream.ended(finished, session=session, known=self._turn.knows_call)
            self._turn.append(ended)
            self._stream = None
            if ended.cut is not None:
                self._cut_calls = tuple(part.name for part in ended.parts if isinstance(part, CallPart))
            self._turn.to(Signal.RESPONSE)
            return finished.finish

    def cut(self) -> tuple[str, ...]:
        """Journal what came of a response that will not be finished, and return the names of calls begun in it."""
        if self._stream is not None:
            self._cut_calls = self._stream.begun_calls
            self._stream.checkpoint()
        return self._cut_calls
