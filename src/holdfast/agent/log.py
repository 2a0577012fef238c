"""The debug log: what a session did, one JSON object a line (docs/debug.md lists them).

Two rules. It holds sizes, ids, names and errors, what was said, read or printed only as an error quotes it, and no key.
It changes nothing: without one nothing is counted or built; one that cannot be written ends itself and not the turn.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from holdfast.agent.counts import Counts, ms
from holdfast.agent.events import Event, Fact, Finding, NotRecorded
from holdfast.agent.model import Model, StreamEvent
from holdfast.agent.providers import PROVIDERS, Providers, profile_of
from holdfast.agent.secrets import bare, hidden
from holdfast.agent.turn import Signal, State
from holdfast.session.conversation import Conversation
from holdfast.session.entries import (
    CallPart,
    Entry,
    PromptAccepted,
    Repaired,
    RequestFailed,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
    encode,
    kind,
)
from holdfast.session.gate import arranged
from holdfast.session.outline import outline

LONGEST = 500
"""Characters of an error that are kept."""

_ERROR = 400  # the first HTTP status that is one
_BODY = 64 * 1024  # bytes of an error body that are looked at: far more than LONGEST, so that no key is cut in two
_TOLD = frozenset(
    {
        *("turn", "attempt", "attempts", "model", "version", "format"),
        *("fault", "status", "retry_in", "retry_whole", "message"),
        *("finish", "cut", "usage"),
        *("call", "effect", "outcome", "seconds", "allowed"),
        *("reason", "cause", "detail"),
    }
)
"""The fields of entries that are recorded: nothing that anybody said or any tool gave."""


class Log:
    """The records of one session, each written by `write` as one line; `secrets` are nowhere in them."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        session: str,
        secrets: tuple[str, ...] = (),
        providers: Providers = PROVIDERS,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._write: Callable[[str], None] | None = write
        self._session = session
        self._secrets = secrets
        self._providers = providers
        self._now = now
        self._tell: Callable[[Event], None] = lambda _: None
        self._turn: int | None = None
        self._step: int | None = None
        self._attempt: int | None = None
        self._counts: Counts | None = None
        self._asked_at = 0.0
        self._status = 0
        self._body = b""  # of an answer that is an error

    def hide(self, secrets: tuple[str, ...]) -> None:
        """Keep these out of the records as well."""
        self._secrets = (*self._secrets, *secrets)

    def record(self, kind: str, **fields: object) -> None:
        """Write one record; one that cannot be written is the last."""
        if self._write is None:
            return
        head = {"at": self._now().isoformat(), "session": self._session, "turn": self._turn, "step": self._step}
        try:
            self._write(
                json.dumps({**head, "kind": kind, **{name: self._clean(each) for name, each in fields.items()}})
            )
        except OSError as error:
            self._write = None
            self._tell(Finding(f"The debug log cannot be written any more: {error.strerror}. The session is not hurt."))

    # --- what the driver gives --------------------------------------------------------------------------------------

    def beside(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return what tells `emit` of an event that is recorded first."""
        self._tell = emit

        def both(event: Event) -> None:
            self._event(event)
            emit(event)

        return both

    def connecting(self, connect: Callable[[str], Awaitable[Model]]) -> Callable[[str], Awaitable[Model]]:
        """Return what connects as `connect` does, to models whose requests are recorded."""

        async def connected(name: str) -> Model:
            return _LoggedModel(await connect(name), self)

        return connected

    def moved(self, state: State, signal: Signal, after: State) -> None:
        """Record a move along the turn table."""
        self.record("move", state=state.value, signal=signal.value, to=after.value)

    def _event(self, event: Event) -> None:
        match event:
            case Fact(seq=seq, entry=entry):
                self._fact(seq, entry)
            case NotRecorded(message=message):
                self.record("not-recorded", message=message)
            case Finding(message=message):
                self.record("finding", message=message)
            case _:
                pass  # what is said live

    def _fact(self, seq: int, entry: Entry) -> None:
        match entry:
            case PromptAccepted(turn=turn):
                self._turn = turn
            case RequestStarted(step=step, attempt=attempt):
                self._step, self._attempt = step, attempt
            case RequestFailed() | ResponseEnded() | TurnEnded():
                self.stream_ended(self._counts, "left")  # by a model that does not end when it is told to
            case _:
                pass
        self.record("entry", seq=seq, entry=kind(entry), bytes=len(encode(entry)), **_told_of(entry))
        match entry:
            case Repaired(findings=findings):
                for finding in findings:
                    self.record("repair", seq=seq, finding=finding)
            case TurnEnded():
                self._step = self._attempt = None
            case _:
                pass

    # --- what a model gives -----------------------------------------------------------------------------------------

    def sending(self, conversation: Conversation) -> Counts:
        """Record what is about to be sent, each message's place, role, parts, sizes and call ids; return its counts."""
        opened = conversation.opened
        rows = outline(arranged(conversation, profile_of(conversation.model, self._providers)), frozenset())
        self.record(
            "outgoing",
            model=conversation.model,
            attempt=self._attempt,
            system=len(conversation.system),
            tools=len(opened.tools) if opened else 0,
            open_calls=[call for row in rows for call in row.open_calls],
            messages=msgspec.to_builtins(rows),
        )
        self._counts = Counts(began=time.monotonic())
        return self._counts

    def stream_ended(self, counts: Counts | None, how: str) -> None:
        """Record what came of the response, once."""
        if counts is not None and counts is self._counts:
            self._counts = None
            self.record("stream", attempt=self._attempt, how=how, **counts.told(time.monotonic()))

    # --- what the wire gives ----------------------------------------------------------------------------------------

    def asked(self, method: str, address: str, size: int) -> None:
        """Record an HTTP request that goes out; `size` is that of its body."""
        self._asked_at = time.monotonic()
        self.record("request", attempt=self._attempt, method=method, address=bare(address), bytes=size)

    def answered(self, status: int, request_id: str) -> None:
        """Record the head of an HTTP response."""
        self._status, self._body = status, b""
        self.record("response", status=status, request_id=request_id, ms=ms(time.monotonic() - self._asked_at))

    def arrived(self, chunk: bytes) -> None:
        """Count bytes of a body, and keep those of an error."""
        if self._counts is not None:
            self._counts.chunk(chunk)
        if self._status >= _ERROR:
            self._body = (self._body + chunk)[:_BODY]

    def closed(self) -> None:
        """Record the body of an error, once it has come."""
        if self._status >= _ERROR:
            self.record("error-body", status=self._status, body=self._body.decode("utf-8", "replace"))
        self._status, self._body = 0, b""

    def _clean(self, value: object) -> object:
        """Return the value without a key in it, and no text longer than LONGEST."""
        if isinstance(value, str):
            shown = hidden(value, self._secrets)
            return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
        if isinstance(value, list | tuple):
            items: list[object] = [*value]  # pyright: ignore[reportUnknownVariableType] - whatever it holds
            return [self._clean(each) for each in items]
        if isinstance(value, dict):
            fields: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType] - whatever it holds
            return {name: self._clean(each) for name, each in fields.items()}
        return value


class _LoggedModel:
    """A model whose requests and responses are recorded; it does nothing else."""

    def __init__(self, model: Model, log: Log) -> None:
        self._model = model
        self._log = log

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return self._model.name

    def stream(
        self, conversation: Conversation, *, whole: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Send the conversation, recorded."""
        return self._stream(conversation, whole=whole)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._model.aclose()

    @asynccontextmanager
    async def _stream(self, conversation: Conversation, *, whole: bool) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        counts = self._log.sending(conversation)
        how = "ended"
        try:
            async with self._model.stream(conversation, whole=whole) as events:
                yield _Counted(events, counts)
        except BaseException as error:
            how = type(error).__name__
            raise
        finally:
            self._log.stream_ended(counts, how)


class _Counted:
    """Events that are counted as they are taken; not a generator, which would have to be closed."""

    def __init__(self, events: AsyncIterator[StreamEvent], counts: Counts) -> None:
        self._events = events
        self._counts = counts

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        event = await anext(self._events)
        self._counts.event(event, time.monotonic())
        return event


def _told_of(entry: Entry) -> dict[str, object]:
    built: dict[str, object] = msgspec.to_builtins(entry)
    told = {name: value for name, value in built.items() if name in _TOLD}
    if isinstance(entry, ResponseEnded):
        told["calls"] = [f"{part.id} {part.name}" for part in entry.parts if isinstance(part, CallPart)]
    return told
