"""The debug log: what a session did, one JSON object per line (docs/how-to/debug.md lists them).

It holds sizes, ids, names and errors. Prompts, answers and outputs appear only where an error quotes them, keys never.
Without a log nothing is counted or built. A log that cannot be written ends itself, not the turn.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from holdfast.agent.debug_log.stream_stats import Counts, ms
from holdfast.agent.events import CheckFinding, Event, Fact, NotRecorded
from holdfast.agent.turn.states import Signal, State
from holdfast.providers.credentials.redaction import redact, strip_credentials
from holdfast.providers.model import Model, OwnServerModel, StreamEvent
from holdfast.providers.registry import PROVIDERS, Providers, profile_of
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.outline import outline
from holdfast.session.journal import entries as e
from holdfast.session.journal.entries import encode, kind
from holdfast.session.journal.parts import CallPart
from holdfast.session.request.validate import arranged

LONGEST_FIELD = 500
"""Characters kept of an error."""

_ERROR = 400  # the first HTTP status that is an error
_BODY = 64 * 1024  # bytes read of an error body: far more than LONGEST, so that no key is cut in two
_LOGGED_FIELDS = frozenset(
    {
        *("turn", "attempt", "attempts", "model", "version", "format"),
        *("fault", "status", "retry_in", "retry_unstreamed", "message"),
        *("finish", "cut", "usage"),
        *("call", "effect", "outcome", "seconds", "allowed"),
        *("reason", "cause", "detail"),
    }
)
"""The fields of entries that are logged: nothing that the user, the model or a tool wrote."""


class Log:
    """The log records of one session; `write` gets each as one line. `secrets` are redacted everywhere."""

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
        self._emit: Callable[[Event], None] = lambda _: None
        self._turn: int | None = None
        self._step: int | None = None
        self._attempt: int | None = None
        self._counts: Counts | None = None
        self._asked_at = 0.0
        self._status = 0
        self._body = b""  # of an error response

    def hide(self, secrets: tuple[str, ...]) -> None:
        """Redact these too."""
        self._secrets = (*self._secrets, *secrets)

    def record(self, kind: str, **fields: object) -> None:
        """Write one record. A record that cannot be written is the last."""
        if self._write is None:
            return
        head = {"at": self._now().isoformat(), "session": self._session, "turn": self._turn, "step": self._step}
        try:
            self._write(
                json.dumps({**head, "kind": kind, **{name: self._clean(each) for name, each in fields.items()}})
            )
        except OSError as error:
            self._write = None
            self._emit(
                CheckFinding(f"The debug log can no longer be written: {error.strerror}. The session is not affected.")
            )

    # --- from the session -----------------------------------------------------------------------------------------

    def wrap_emit(self, emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return a callback that logs an event and then passes it to `emit`."""
        self._emit = emit

        def logging_emit(event: Event) -> None:
            self._event(event)
            emit(event)

        return logging_emit

    def wrap_connect(self, connect: Callable[[str], Awaitable[Model]]) -> Callable[[str], Awaitable[Model]]:
        """Return a `connect` whose models log their requests."""

        async def connected(name: str) -> Model:
            return _LoggedModel(await connect(name), self)

        return connected

    def record_transition(self, state: State, signal: Signal, after: State) -> None:
        """Record a move of the turn's state table."""
        self.record("move", state=state.value, signal=signal.value, to=after.value)

    def _event(self, event: Event) -> None:
        match event:
            case Fact(seq=seq, entry=entry):
                self._fact(seq, entry)
            case NotRecorded(message=message):
                self.record("not-recorded", message=message)
            case CheckFinding(message=message):
                self.record("finding", message=message)
            case _:
                pass  # live text

    def _fact(self, seq: int, entry: e.Entry) -> None:
        match entry:
            case e.PromptAccepted(turn=turn):
                self._turn = turn
            case e.RequestStarted(step=step, attempt=attempt):
                self._step, self._attempt = step, attempt
            case e.RequestFailed() | e.ResponseEnded() | e.TurnEnded():
                self.stream_ended(self._counts, "left")  # from a model that kept running after it was cancelled
            case _:
                pass
        self.record("entry", seq=seq, entry=kind(entry), bytes=len(encode(entry)), **_logged_fields(entry))
        match entry:
            case e.Repaired(findings=findings):
                for finding in findings:
                    self.record("repair", seq=seq, finding=finding)
            case e.TurnEnded():
                self._step = self._attempt = None
            case _:
                pass

    # --- from the model -------------------------------------------------------------------------------------------

    def record_request(self, conversation: Conversation) -> Counts:
        """Record the request: each message's position, role, parts, sizes and call ids. Return its counts."""
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
        """Record how the response ended, once."""
        if counts is not None and counts is self._counts:
            self._counts = None
            self.record("stream", attempt=self._attempt, how=how, **counts.as_fields(time.monotonic()))

    # --- from the HTTP client -------------------------------------------------------------------------------------

    def request_sent(self, method: str, address: str, size: int) -> None:
        """Record an outgoing HTTP request; `size` is the size of its body."""
        self._asked_at = time.monotonic()
        self.record("request", attempt=self._attempt, method=method, address=strip_credentials(address), bytes=size)

    def response_started(self, status: int, request_id: str) -> None:
        """Record the status and request id of an HTTP response."""
        self._status, self._body = status, b""
        self.record("response", status=status, request_id=request_id, ms=ms(time.monotonic() - self._asked_at))

    def data_received(self, chunk: bytes) -> None:
        """Count bytes of a body, and keep those of an error."""
        if self._counts is not None:
            self._counts.chunk(chunk)
        if self._status >= _ERROR:
            self._body = (self._body + chunk)[:_BODY]

    def response_closed(self) -> None:
        """Record the body of an error once it is complete."""
        if self._status >= _ERROR:
            self.record("error-body", status=self._status, body=self._body.decode("utf-8", "replace"))
        self._status, self._body = 0, b""

    def _clean(self, value: object) -> object:
        """Return the value with secrets redacted and long texts cut at LONGEST."""
        if isinstance(value, str):
            shown = redact(value, self._secrets)
            return shown if len(shown) <= LONGEST_FIELD else f"{shown[:LONGEST_FIELD]}…"
        if isinstance(value, list | tuple):
            items: list[object] = [*value]  # pyright: ignore[reportUnknownVariableType] - whatever it holds
            return [self._clean(each) for each in items]
        if isinstance(value, dict):
            fields: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType] - whatever it holds
            return {name: self._clean(each) for name, each in fields.items()}
        return value


class _LoggedModel:
    """A model that logs its requests and responses and changes nothing else."""

    def __init__(self, model: Model, log: Log) -> None:
        self._model = model
        self._log = log

    @property
    def name(self) -> str:
        return self._model.name

    def stream(
        self, conversation: Conversation, *, non_streaming: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Send the conversation and log it."""
        return self._stream(conversation, non_streaming=non_streaming)

    @property
    def on_own_server(self) -> bool:
        return isinstance(self._model, OwnServerModel) and self._model.on_own_server

    def watch(self, alive: Callable[[float | None], None]) -> None:
        """Pass signs of life on."""
        if isinstance(self._model, OwnServerModel):
            self._model.watch(alive)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._model.aclose()

    @asynccontextmanager
    async def _stream(
        self, conversation: Conversation, *, non_streaming: bool
    ) -> AsyncGenerator[AsyncIterator[StreamEvent]]:
        counts = self._log.record_request(conversation)
        how = "ended"
        try:
            async with self._model.stream(conversation, non_streaming=non_streaming) as events:
                yield _CountingIterator(events, counts)
        except BaseException as error:
            how = type(error).__name__
            raise
        finally:
            self._log.stream_ended(counts, how)


class _CountingIterator:
    """Counts events as they are consumed. Not a generator, which would have to be closed."""

    def __init__(self, events: AsyncIterator[StreamEvent], counts: Counts) -> None:
        self._events = events
        self._counts = counts

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        event = await anext(self._events)
        self._counts.event(event, time.monotonic())
        return event


def _logged_fields(entry: e.Entry) -> dict[str, object]:
    built: dict[str, object] = msgspec.to_builtins(entry)
    fields = {name: value for name, value in built.items() if name in _LOGGED_FIELDS}
    if isinstance(entry, e.ResponseEnded):
        fields["calls"] = [f"{part.id} {part.name}" for part in entry.parts if isinstance(part, CallPart)]
    return fields
