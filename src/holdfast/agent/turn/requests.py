"""Sends requests: each is attempted until a response is journalled or no attempt is left.

An attempt is journalled before it is sent, and so is its failure. Output that was already shown is not requested again,
but for a response that is no answer: what little of it was shown is marked as cut off. What a provider refused for good
is left out, by a decision that is journalled with the failure; then the request is sent once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import get_args

import msgspec

from holdfast.agent.cancellation import StopSignal
from holdfast.agent.events import CheckFinding
from holdfast.agent.model_request.empty_answer import STEP_NOT_DONE, EmptyAnswer, expect_answer, step_not_done
from holdfast.agent.model_request.response_stream import Stream
from holdfast.agent.model_request.retry import retry_delay, without_streaming
from holdfast.agent.model_request.streamed_text import StreamedText
from holdfast.agent.turn.calls.text_calls import CheckedResponse, check_response, read_notice, unread_detail
from holdfast.agent.turn.fallback import fallback_for, with_unusable_fallback
from holdfast.agent.turn.states import Signal
from holdfast.agent.turn.turn_context import TurnContext
from holdfast.errors import ModelUnusable, ProviderFailed
from holdfast.providers.model import Model, ModelFinish, PrefixModel, StreamFinished
from holdfast.providers.protocols.answer_bounds import answer_room
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import context_tokens
from holdfast.session.journal.entries import (
    ModelChanged,
    Repaired,
    RequestFailed,
    RequestsChanged,
    RequestStarted,
    ResponseEnded,
    Why,
)
from holdfast.session.journal.parts import CallPart
from holdfast.session.journal.request_changes import RequestChange
from holdfast.session.request.validate import validate_request
from holdfast.text import valid_unicode

_LONG = 16_000
"""Tokens from which on a refusal without a reason may mean that the conversation is too long.

With status 400 it must also fill half of the window, if that is known.
"""


class _Recovery(msgspec.Struct, frozen=True):
    """What follows a failed request: a decision about what is left out, and whether there is a `further` request.

    `repeats`: it was refused for what is in it, and is not sent again.
    """

    too_long: bool = False
    images: str | None = None
    change: RequestsChanged | None = None
    further: bool = False
    repeats: bool = False

    @property
    def name(self) -> str:
        """Return what is left out, for the next decision about the same request."""
        return "too_long" if self.too_long else self.images or (self.change.change if self.change else "")


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
        self.refusal = ""
        """Why the model refused to answer, if it did and its provider says so."""
        self.unread_call = ""
        """What the user reads of the call that the last response ends with as text, and that is none; "" if none."""

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
        number, limits = sent.steps + 1, context.limits.of(sent.model)
        attempt, empty = 0, 0  # `empty` counts the responses that were no answer
        non_streaming, fell_back = False, False
        left_out: set[str] = set()  # what was left out of this request after a refusal
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
                text_calls=context.checks.reads_text_calls(sent.model),
            )
            try:
                finished = expect_answer(
                    model.name, await stream.run(sent, self._stop, on_event=lambda: self._to(Signal.EVENT))
                )
            except ProviderFailed as refused:
                stream.end_text()
                failed = await self._explained(refused, sent)
                empty += isinstance(failed, EmptyAnswer)
                found = await self._recovery(failed, sent, left_out, model, shown=stream.shown)
                if found.further:
                    delay = 0.0
                elif found.repeats:
                    delay = None
                else:
                    delay = retry_delay(
                        failed,
                        attempt,
                        limits=limits,
                        shown=stream.shown,
                        non_streaming=non_streaming or stream.gave_up,
                        empty=empty,
                    )
                non_streaming = delay is not None and without_streaming(
                    failed, fell_back=fell_back, patient=stream.patient
                )
                fell_back = fell_back or non_streaming
                stream.checkpoint()
                self._journal.append(
                    RequestFailed(
                        step=number,
                        attempt=attempt,
                        fault=found.images or failed.fault,
                        message=valid_unicode(str(failed)),
                        status=failed.status,
                        retry_in=delay,
                        attempts=limits.attempts,
                        retry_unstreamed=non_streaming,
                        model=model.name if isinstance(failed, EmptyAnswer) else "",
                        usage=failed.usage if isinstance(failed, EmptyAnswer) else None,
                    ),
                    *(() if found.change is None else (found.change,)),  # in one append: a kill leaves both or none
                )
                if delay is None:
                    raise failed from refused
                self._to(Signal.FAIL)
                await context.connection.drop()
                if found.too_long and not await self.shorten("overflow"):
                    raise failed from refused
                if found.further:
                    left_out.add(found.name)
                    sent = self._valid()
                else:
                    await self._stop.race(asyncio.sleep(delay))
                continue
            self._received += stream.received
            return self._journal_response(stream, finished, sent)

    def _journal_response(self, stream: Stream, finished: StreamFinished, sent: Conversation) -> ModelFinish:
        """Journal a complete response, with the calls that it has as text, and return how it ended."""
        checks, session = self._context.checks, sent.opened.session if sent.opened else ""
        reads = checks.reads_text_calls(sent.model)
        checked = CheckedResponse(finished)
        try:
            checked = check_response(finished, lambda: self._context.toolbox.tools, reads=reads)
        finally:  # tools that cannot be named do not cost the response: it is a text then
            stream.end_text(is_call=bool(checked.written))
            ended = stream.response_entry(checked.finished, session=session, known=self._journal.fold.knows_call)
            self._journal.append(msgspec.structs.replace(ended, written=valid_unicode(checked.written)))
        if checked.written:
            checks.emit_note(read_notice(sent.model))
        if ended.refusal is None and sent.opened is not None and sent.opened.tools and step_not_done(checked.finished):
            checks.emit_note(STEP_NOT_DONE)
        self.unread_call = checked.unread and unread_detail(sent.model, checked.unread, reads=reads)
        self._notice(stream, sent, ended)
        if ended.refusal is not None:
            self.refusal = ended.refusal.text
        elif ended.cut is not None:
            self._cut_calls = tuple(part.name for part in ended.parts if isinstance(part, CallPart))
        self._to(Signal.RESPONSE)
        return checked.finished.finish

    async def _recovery(
        self, failed: ProviderFailed, sent: Conversation, left_out: set[str], model: Model, *, shown: bool
    ) -> _Recovery:
        """Return what a failed request is followed by, after which `left_out` was already left out of it.

        One further request at most: only images have two steps, the newest and then all.
        """
        from holdfast.agent.turn import image_refusals, refusals

        row = refusals.refusal_of(failed, sent)
        if failed.fault == "too_long":
            possible = not (shown or "too_long" in left_out) and self._context.compactor.is_possible()
            possible = possible and await self._may_be_too_long(failed, sent)
            return _Recovery(too_long=possible, further=possible)
        if (images := image_refusals.image_refusal(failed, sent)) is not None:
            further = not shown and left_out.isdisjoint({images, *get_args(RequestChange)})
            return _Recovery(images=images if further else None, further=further, repeats=not further)
        change = refusals.change_after(row, failed, sent)
        if change is not None and self._makes_another_request(change, sent, model):
            further = not shown and not left_out - {"too_long"}
            return _Recovery(change=change, further=further, repeats=not further)
        return _Recovery(repeats=bool(left_out) and refusals.is_about_content(row))

    def _makes_another_request(self, change: RequestsChanged, sent: Conversation, model: Model) -> bool:
        """Return whether the decision changes what is sent: what was refused is not sent again, byte for byte."""
        from holdfast.agent.turn.refusals import makes_another_request

        now, after = self._journal.conversation, self._journal.fold.after((change,))
        profile = self._context.checks.profile(sent)
        if not makes_another_request(now, after, profile):
            return False
        return not isinstance(model, PrefixModel) or model.prefix(sent) != model.prefix(
            validate_request(after, profile).conversation
        )

    async def _may_be_too_long(self, failed: ProviderFailed, sent: Conversation) -> bool:
        """Return whether to believe it: gateways also answer 400 without a reason when their own server fails."""
        if failed.refusal != "no-reason":
            return True
        window = await self._context.compactor.window_of(sent.model, self._stop)
        least = max(_LONG, window // 2) if failed.status == HTTPStatus.BAD_REQUEST else _LONG
        return context_tokens(self._journal.conversation) >= least

    def _notice(self, stream: Stream, sent: Conversation, ended: ResponseEnded) -> None:
        """Note the end of a stream. Tell the user if a server of theirs, at the first request, dropped the tools."""
        self._stream = None
        if not (stream.patient and ended.step == 1):
            return
        from holdfast.agent.model_request.dropped_tools import TOOLS_DROPPED, tools_were_dropped

        if tools_were_dropped(sent, ended.usage):
            self._context.emit(CheckFinding(TOOLS_DROPPED))

    async def _explained(self, failed: ProviderFailed, sent: Conversation) -> ProviderFailed:
        """Return the failure; one of a request that was too long says what of the window was holdfast's own."""
        if failed.fault != "too_long":
            return failed
        from holdfast.agent.model_request.small_windows import with_small_window

        window = await self._context.compactor.window_of(sent.model, self._stop)
        return with_small_window(failed, sent, window)

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
