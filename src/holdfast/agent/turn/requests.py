"""Sends requests: each is attempted until a response is journalled or no attempt is left.

An attempt is journalled before it is sent, and so is its failure. Output that was already shown is not requested again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.model_request.response_stream import Stream, StreamedText
from holdfast.agent.model_request.retry import retry_delay, without_streaming
from holdfast.agent.turn.fallback import fallback_for, with_unusable_fallback
from holdfast.agent.turn.image_refusals import image_refusal
from holdfast.agent.turn.states import Signal
from holdfast.agent.turn.turn_context import TurnContext
from holdfast.errors import ModelUnusable, ProviderFailed
from holdfast.providers.model import ModelFinish, PrefixModel
from holdfast.providers.protocols.answer_bounds import answer_room
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import ModelChanged, Repaired, RequestFailed, RequestStarted, Why
from holdfast.session.journal.parts import CallPart
from holdfast.text import valid_unicode


class Requests:
    """The requests of one turn."""

    def __init__(self, context: TurnContext, stop: StopSignal, to: Callable[[Signal], None]) -> None:
        """Create it without a request; `to` moves the turn to its next state."""
        self._context = context
        self._journal = context.journal
        self._stop = stop
        self._to = to
        self._stream: Stream | None = None
        self._received = 0  # bytes of text, in the answers of the turn so far
        self._cut_calls: tuple[str, ...] = ()

    async def shorten(self, why: Why) -> bool:
        """Compact the conversation and return whether it is shorter now."""
        self._to(Signal.COMPACT)
        shortened = await self._context.compactor.shorten(self._stop, why)
        self._to(Signal.COMPACTED)
        return shortened

    async def send(self) -> ModelFinish:
        """Send the conversation until a response is journalled, by the fallback model if the model does not answer.

        Raises `ProviderFailed` when no attempt is left, `InvalidRequest` if the conversation is invalid: then it is not
        sent.
        """
        try:
            return await self._attempts()
        except ProviderFailed as failed:
            shown = self._stream is not None and self._stream.shown
            name = fallback_for(self._journal.conversation, self._context.fallback, failed, shown=shown)
            if not name:
                raise
            await self._fall_back(name, failed)
            return await self._attempts()

    async def _fall_back(self, name: str, failed: ProviderFailed) -> None:
        """Continue the turn with the model `name`, shortened for its window. Raises `failed` if it cannot be used."""
        self._to(Signal.FAIL)
        try:  # connected before it is journalled: without its key nothing changes
            await self._context.connection.model(name, self._stop)
        except (ModelUnusable, ProviderFailed) as unusable:
            raise with_unusable_fallback(failed, unusable) from unusable
        self._journal.append(ModelChanged(model=name, why="fallback"))
        if await self._context.compactor.is_due(self._stop):
            await self.shorten("auto")

    async def _attempts(self) -> ModelFinish:
        """Send the conversation to its model until a response is journalled; raises as `send` does."""
        context = self._context
        sent = self._valid()
        number = sent.steps + 1
        limits = context.limits.of(sent.model)
        attempt = 0
        non_streaming, fell_back, shortened = False, False, False
        left_out: set[str] = set()  # reasons for which images were already left out
        while True:
            attempt += 1
            model = await context.connection.model(sent.model, self._stop)
            prefix = model.prefix(sent) if isinstance(model, PrefixModel) else None
            self._journal.append(RequestStarted(step=number, attempt=attempt, model=model.name, prefix=prefix))
            self._to(Signal.SEND)
            stream = self._stream = Stream(
                number,
                model,
                non_streaming=non_streaming,
                limits=limits,
                detached=context.detached,
                append=self._journal.append,
                keep=self._journal.keep_streamed,
                streamed=self._journal.begin_streaming(StreamedText(number)),
                emit=context.emit,
                room=answer_room(self._received),
            )
            try:
                finished = await stream.run(sent, self._stop, on_event=lambda: self._to(Signal.EVENT))
            except ProviderFailed as failed:
                too_long = failed.fault == "too_long" and not (shortened or stream.shown)
                too_long = too_long and context.compactor.is_possible()
                images = None if stream.shown else image_refusal(failed, sent)
                images = None if images in left_out else images
                changed = too_long or images is not None
                delay = (
                    0.0
                    if changed
                    else retry_delay(failed, attempt, limits=limits, shown=stream.shown, non_streaming=non_streaming)
                )
                non_streaming = delay is not None and without_streaming(failed, fell_back=fell_back)
                fell_back = fell_back or non_streaming
                stream.checkpoint()
                self._journal.append(
                    RequestFailed(
                        step=number,
                        attempt=attempt,
                        fault=images or failed.fault,
                        message=valid_unicode(str(failed)),
                        status=failed.status,
                        retry_in=delay,
                        attempts=limits.attempts,
                        retry_whole=non_streaming,
                    )
                )
                if delay is None:
                    raise
                self._to(Signal.FAIL)
                await context.connection.drop()
                if too_long:
                    shortened = True
                    if not await self.shorten("overflow"):
                        raise
                elif images is not None:
                    left_out.add(images)
                else:
                    await self._stop.race(asyncio.sleep(delay))
                if changed:
                    sent = self._valid()
                continue
            self._received += stream.received
            ended = stream.response_entry(
                finished, session=sent.opened.session if sent.opened else "", known=self._journal.fold.knows_call
            )
            self._journal.append(ended)
            self._stream = None
            if ended.cut is not None:
                self._cut_calls = tuple(part.name for part in ended.parts if isinstance(part, CallPart))
            self._to(Signal.RESPONSE)
            return finished.finish

    def _valid(self) -> Conversation:
        """Return the conversation to send, its repairs journalled; raises `InvalidRequest`, `TurnStopped`."""
        self._context.budget.check(self._stop)  # also after a summary, which may have cost the rest
        checks, conversation = self._context.checks, self._journal.conversation
        valid = checks.requests.validate(conversation, checks.profile(conversation))
        if repairs := checks.unreported_findings(valid.violations):
            self._journal.append(Repaired(findings=repairs))
        checks.emit_setting_notes(valid.conversation)
        return valid.conversation

    def cut(self) -> tuple[str, ...]:
        """Journal the end of an unfinished response and return the names of the calls it had begun."""
        if self._stream is not None:
            self._cut_calls = self._stream.begun_calls
            self._stream.checkpoint()
        return self._cut_calls
