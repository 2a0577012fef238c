"""One request in flight: a pump task fills a bounded queue, the turn reads from it, with deadlines for each event.

Whatever arrived is kept, however the stream ends. No wait here is longer than its deadline. The pump counts what it
puts on the queue, so neither memory nor a stop depends on how much a server can send.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from holdfast.agent.cancellation import DetachedTasks, StopSignal
from holdfast.agent.events import Event, LiveCall, LivePrompt, LiveText, LiveThinking
from holdfast.agent.model_request.periodic_text import Periodic, PeriodicText
from holdfast.agent.model_request.streamed_text import StreamedText
from holdfast.config.settings import Limits
from holdfast.errors import ProviderFailed
from holdfast.providers.model import (
    CallDelta,
    Model,
    OwnServerModel,
    StreamEvent,
    StreamFinished,
    TextDelta,
    ThinkingDelta,
)
from holdfast.providers.protocols.answer_bounds import LONGEST_CALL_NAME, MOST_TURN_TEXT, AnswerSize, Flood
from holdfast.session.conversation.call_ids import call_id
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Part, ResponseCheckpoint, ResponseEnded
from holdfast.session.journal.parts import AnswerRefusal, CallPart, TextPart, ThinkingPart
from holdfast.text import valid_unicode

if TYPE_CHECKING:
    from holdfast.agent.model_request.held_text import HeldText

KEEP_EVERY = 0.2
"""Seconds of streamed text that a kill may lose."""

KEEP_BYTES = 4_096
"""Bytes of streamed text that a kill may lose."""

CHECKPOINT_EVERY = 1.0
"""Seconds of streamed text that a power loss may lose."""

CHECKPOINT_BYTES = 256 * 1024
"""Bytes of streamed text that a power loss may lose."""

_TICK = 0.5
"""Seconds of waiting after which the stream checks whether the event loop was blocked."""

SLACK = 0.05
"""Seconds that the event loop may be late without counting as blocked."""

QUEUE = 256
"""Events the pump may read ahead; beyond that the provider's own flow control holds the stream."""


class Stream:
    """The events of one attempt at a request. `non_streaming` requests the answer without streaming.

    `room` is how many bytes of text the answers of the turn may still have. `text_calls`: a text may be a call.
    """

    def __init__(  # noqa: PLR0913 - the parts of a request
        self,
        step: int,
        model: Model,
        *,
        non_streaming: bool,
        limits: Limits,
        detached: DetachedTasks,
        append: Callable[[ResponseCheckpoint], None],
        emit: Callable[[Event], None],
        keep: Callable[[ResponseCheckpoint], None] = lambda _: None,
        streamed: StreamedText | None = None,
        room: int = MOST_TURN_TEXT,
        text_calls: bool = False,
    ) -> None:
        self._step = step
        self._model = model
        self._non_streaming = non_streaming
        self._limits = limits
        self._detached = detached
        self._append = append
        self._keep = keep
        self._emit = emit
        self._queue: asyncio.Queue[StreamEvent | ProviderFailed] = asyncio.Queue(maxsize=QUEUE)
        self._arrived = asyncio.Event()  # awaited in place of the queue, so that a stop loses no event
        self._pump: asyncio.Task[None] | None = None
        self._dropped = False
        self._size = AnswerSize(room)
        self._periods = PeriodicText(), PeriodicText()  # of the text, of the thinking
        self._streamed = StreamedText(step) if streamed is None else streamed
        self._text_calls = text_calls
        self._held_text: HeldText | None = None  # once there is text
        self._shown = False
        self._checkpoint_at = self._keep_at = 0.0
        self._calls: dict[int, str] = {}
        self._patient = isinstance(model, OwnServerModel) and model.on_own_server
        self._patient = self._patient and limits.first_event_most > limits.first_event
        self._alive_at: float | None = None  # the last sign of life of a server that is waited for
        self._percent = -1
        self._gave_up = False

    @property
    def shown(self) -> bool:
        """Return whether output of this attempt was shown. A retry would show it twice."""
        return self._shown

    @property
    def patient(self) -> bool:
        """Return whether the server is the user's own: signs of life give it more time for its first event."""
        return self._patient

    @property
    def gave_up(self) -> bool:
        """Return whether it had all the time that there is for a first event. Another attempt would take it again."""
        return self._gave_up

    @property
    def received(self) -> int:
        """Return how many bytes of text have arrived."""
        return self._size.bytes

    @property
    def begun_calls(self) -> tuple[str, ...]:
        """Return the names of the calls the model has begun to write."""
        return tuple(self._calls.values())

    async def run(
        self, conversation: Conversation, stop: StopSignal, *, on_event: Callable[[], None]
    ) -> StreamFinished:
        """Return the complete response; raises `ProviderFailed`, or `TurnStopped` on a stop.

        When this returns or raises, the pump has ended or was detached after `limits.drop_wait`. A non-streaming answer
        must arrive within `limits.first_event`.
        """
        loop = asyncio.get_running_loop()
        self._checkpoint_at, self._keep_at = loop.time() + CHECKPOINT_EVERY, loop.time() + KEEP_EVERY
        self._pump = loop.create_task(self._fill(conversation), name=f"request {self._step}")
        if self._patient and isinstance(self._model, OwnServerModel):
            self._model.watch(self._on_alive)
        first, complete = True, False
        try:
            while True:
                wait = self._limits.first_event if first else self._limits.idle_event
                event = await self._next(stop, wait, most=self._limits.first_event_most if first else wait)
                if first:
                    first = False
                    on_event()
                if isinstance(event, StreamFinished):
                    await asyncio.wait({self._pump}, timeout=self._limits.drop_wait)  # it gives its connection back
                    complete = True
                    return event
                self._take(event)
                if self._held_text is not None and (failed := self._held_text.failure(self._model.name)) is not None:
                    raise failed
                if loop.time() >= self._checkpoint_at or self._streamed.bytes >= CHECKPOINT_BYTES:
                    self.checkpoint()
                elif loop.time() >= self._keep_at or self._streamed.unkept >= KEEP_BYTES:
                    self._keep_text()
        finally:
            await self.drop()
            while not self._queue.empty():  # events that arrived before the stop
                late = self._queue.get_nowait()
                if not isinstance(late, ProviderFailed | StreamFinished):
                    self._take(late)
            if not complete:
                self.end_text()

    async def drop(self) -> None:
        """End the pump within `limits.drop_wait`; otherwise detach it, and its connection closes later."""
        self._dropped = True
        pump = self._pump
        if pump is not None and not pump.done():
            pump.cancel()
            for late in (await asyncio.wait({pump}, timeout=self._limits.drop_wait))[1]:
                self._detached.add(late)

    def end_text(self, *, is_call: bool = False) -> None:
        """Show what was held back: it is text. Drop it if it is a call."""
        rest = "" if self._held_text is None else self._held_text.rest()
        self._show("" if is_call else rest)

    def checkpoint(self) -> None:
        """Journal the text received since the last checkpoint."""
        now = asyncio.get_running_loop().time()
        self._checkpoint_at, self._keep_at = now + CHECKPOINT_EVERY, now + KEEP_EVERY
        if (checkpoint := self._streamed.checkpoint()) is not None:
            self._append(checkpoint)
            self._streamed.clear()

    def _keep_text(self) -> None:
        """Keep the text received since the last time, in case this process is killed."""
        self._keep_at = asyncio.get_running_loop().time() + KEEP_EVERY
        if (unkept := self._streamed.take_unkept()) is not None:
            self._keep(unkept)

    def response_entry(self, finished: StreamFinished, *, session: str, known: Callable[[str], bool]) -> ResponseEnded:
        """Return the entry of a complete response. Its calls get holdfast's own ids."""
        used_ids: set[str] = set()
        parts: list[Part] = []
        for index, part in enumerate(finished.parts):
            match part:
                case TextPart():
                    parts.append(TextPart(valid_unicode(part.text)))
                case CallPart():
                    new_id = call_id(session, self._step, index, is_taken=lambda call: call in used_ids or known(call))
                    used_ids.add(new_id)
                    parts.append(
                        msgspec.structs.replace(
                            part,
                            id=new_id,
                            name=valid_unicode(part.name),
                            arguments=valid_unicode(part.arguments),
                            wire_id=part.wire_id and valid_unicode(part.wire_id),
                            item_id=part.item_id and valid_unicode(part.item_id),
                            details=_encodable(part.details),
                        )
                    )
                case ThinkingPart():
                    # Thinking that cannot be replayed exactly is dropped.
                    if all(valid_unicode(each) == each for each in (part.text, part.signature or "", part.id or "")):
                        parts.append(msgspec.structs.replace(part, details=_encodable(part.details)))
        calls = any(isinstance(part, CallPart) for part in parts)
        refused = finished.finish == "refusal"
        refusal = (finished.refusal or AnswerRefusal()) if refused else None
        return ResponseEnded(
            step=self._step,
            model=self._model.name,
            parts=tuple(parts),
            usage=finished.usage,
            finish=finished.finish,
            # The output limit may have truncated a call, so none of them counts; nor do those of a refused answer.
            cut="refusal" if refused else "max_tokens" if finished.finish == "max_tokens" and calls else None,
            refusal=refusal and _bounded(refusal),
        )

    def _take(self, event: TextDelta | ThinkingDelta | CallDelta) -> None:
        self._shown = True
        match event:
            case TextDelta():
                self._show(self._text().add(event.text))
            case ThinkingDelta():
                self._streamed.add(event.text, thinking=True)
                self._emit(LiveThinking(self._step, event.text))
            case CallDelta():
                self.end_text()  # a response with calls has no written ones
                known = self._calls.get(event.index, "")
                name = event.name[: LONGEST_CALL_NAME - len(known)]
                self._calls[event.index] = known + name
                self._emit(LiveCall(self._step, event.index, name, event.arguments))

    def _text(self) -> HeldText:
        from holdfast.agent.model_request.held_text import HeldText

        self._held_text = self._held_text or HeldText(calls=self._text_calls)
        return self._held_text

    def _show(self, text: str) -> None:
        if text:
            self._streamed.add(text)
            self._emit(LiveText(self._step, text))

    def _on_alive(self, share: float | None) -> None:
        self._alive_at = asyncio.get_running_loop().time()
        percent = -1 if share is None else int(share * 100)
        if percent > self._percent and not self._shown:
            self._percent = percent
            self._emit(LivePrompt(self._step, percent))

    async def _next(self, stop: StopSignal, wait: float, *, most: float) -> StreamEvent:
        """Return the next event; raises `ProviderFailed` if the pump failed or nothing comes for `wait` seconds.

        A sign of life of the user's own server is as good, for `most` seconds in all.
        """
        clock = asyncio.get_running_loop().time
        silent_at = clock() + wait
        ends_at = clock() + most
        while self._queue.empty():
            due = self._due(silent_at)
            self._arrived.clear()
            began = clock()
            within = min(due - began, _TICK)
            try:
                await stop.race(self._arrived.wait(), within)
            except TimeoutError:
                blocked = _blocked_time(clock() - began, max(within, 0.0))
                silent_at, ends_at = silent_at + blocked, ends_at + blocked
                if self._patient and most > wait and self._alive_at is not None:
                    silent_at = max(silent_at, min(self._alive_at + wait, ends_at))
                    due = self._due(silent_at)
                if clock() < due:
                    continue
                if clock() >= silent_at:
                    self._gave_up = most > wait and silent_at >= ends_at
                    raise self._silent(most if self._gave_up else wait) from None
                if clock() >= self._checkpoint_at:
                    self.checkpoint()
                else:
                    self._keep_text()
        event = self._queue.get_nowait()
        if isinstance(event, ProviderFailed):
            raise event
        return event

    def _due(self, silent_at: float) -> float:
        """Return when to act: text from before a silence is journalled during it, not after it."""
        if not self._streamed:
            return silent_at
        return min(silent_at, self._checkpoint_at, self._keep_at if self._streamed.unkept else silent_at)

    def _silent(self, seconds: float) -> ProviderFailed:
        provider, _, model = self._model.name.partition(":")
        expected = "the whole answer" if self._non_streaming else "an event"
        if self._gave_up:
            return ProviderFailed(
                f"Model {self._model.name!r} did not begin its answer within {seconds:g} s, though its server "
                f"{provider!r} is alive. The request was dropped. Raise first_event_most for longer prompts.",
                fault="silent",
            )
        return ProviderFailed(
            f"Model {self._model.name!r} sent nothing for {seconds:g} s (expected {expected}). The request passed "
            f"every check, so the cause is provider {provider!r} or its model {model!r}. The request was dropped.",
            fault="silent",
        )

    async def _fill(self, conversation: Conversation) -> None:
        ended = ProviderFailed(
            f"Model {self._model.name!r} ended its response before the end event of its protocol. "
            "None of its calls was run.",
            fault="cut",
        )
        try:
            async with self._model.stream(conversation, non_streaming=self._non_streaming) as events:
                async for event in events:
                    if self._dropped:  # the model ignored its cancellation
                        return
                    if isinstance(event, StreamFinished):
                        self._size.finish(event.parts)
                    else:
                        self._size.add(event)
                    await self._put(event)
                    match event:
                        case TextDelta():
                            self._periods[0].add(event.text)
                        case ThinkingDelta():
                            self._periods[1].add(event.text)
                        case _:
                            pass
        except Periodic as periodic:
            ended = ProviderFailed(
                f"Model {self._model.name!r} sent {periodic}. It was cut off there.", fault="periodic"
            )
        except Flood as flood:
            ended = ProviderFailed(f"Model {self._model.name!r} sent {flood}. It was cut off there.", fault="flood")
        except ProviderFailed as failed:
            ended = failed
        except Exception as error:  # noqa: BLE001 - a Model is foreign code: what it raises ends its response
            ended = ProviderFailed(
                f"Model {self._model.name!r} failed with {type(error).__name__}: {error}.", fault="malformed"
            )
        await self._put(ended)  # not read after a `StreamFinished`

    async def _put(self, event: StreamEvent | ProviderFailed) -> None:
        await self._queue.put(event)
        self._arrived.set()


def _blocked_time(elapsed: float, requested: float) -> float:
    """Return how much of a wait was holdfast's own delay: a blocked event loop reads no events.

    If a wait was late by its own length or more, none of it counts as silence.
    """
    late = elapsed - requested
    return min(2 * late, elapsed) if late > SLACK else 0.0


_LONGEST_REFUSAL = 500
"""Characters of a refusal's category and explanation to keep, of each."""


def _bounded(refusal: AnswerRefusal) -> AnswerRefusal:
    category, explanation = (
        valid_unicode(" ".join(text.split()))[:_LONGEST_REFUSAL] for text in (refusal.category, refusal.explanation)
    )
    return AnswerRefusal(category, explanation)


def _encodable(details: dict[str, object] | None) -> dict[str, object] | None:
    """Return the provider's extra data, None if JSON cannot represent it."""
    try:
        msgspec.json.encode(details)
    except (UnicodeEncodeError, TypeError, OverflowError, RecursionError):
        return None
    return details
