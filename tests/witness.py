"""Checks, whenever an agent sends or does something, whether what it follows from is durable by then.

Two rules. An entry is durable once `append` has returned, or once it was read: not while it is being appended. Only
what streams is sent early, and only for a request or a command that the journal has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.agent.events import (
    CheckFinding,
    Event,
    Fact,
    LiveCall,
    LiveOutput,
    LivePrompt,
    LiveText,
    LiveThinking,
    NotRecorded,
    Shortening,
    TurnFailed,
)
from holdfast.session.journal.causes import OF_THE_PROVIDER
from holdfast.session.journal.entries import (
    CallStarted,
    Entry,
    RequestStarted,
    ResponseCheckpoint,
    ShellStarted,
    TurnEnded,
)
from holdfast.session.journal.store import Reading, Store, StreamingStore

Outside = Callable[[], Sequence[Entry]]


class Witness:
    """A store that knows what it has acknowledged, and receives an agent's events; `complaints` are what it found.

    `outside` reads the journal as another process would: then what an event reports must be there too.
    """

    def __init__(self, store: Store, send: Callable[[Event], None], *, outside: Outside | None = None) -> None:
        self._store = store
        self._send = send
        self._outside = outside
        self._durable: dict[int, Entry] = {}
        self.complaints: list[str] = []
        self.appends: list[tuple[Entry, ...]] = []
        """The entries as they were appended together."""
        self.read()

    # --- the store ----------------------------------------------------------------------------------------------

    @property
    def length(self) -> int:
        """Return how many entries the journal holds."""
        return self._store.length

    def read(self) -> Reading:
        """Return every entry; all of them are durable."""
        reading = self._store.read()
        self._durable |= {record.seq: record.entry for record in reading.records}
        return reading

    def append(self, entries: Sequence[Entry], *, expected: int) -> int:
        """Append entries, which are durable from then on."""
        length = self._store.append(entries, expected=expected)
        self.appends.append(tuple(entries))
        self._durable |= dict(enumerate(entries, start=length - len(entries) + 1))
        return length

    def keep_streamed(self, checkpoint: ResponseCheckpoint, *, expected: int) -> None:
        """Keep streamed text, if the store does."""
        if isinstance(self._store, StreamingStore):
            self._store.keep_streamed(checkpoint, expected=expected)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    # --- what the agent sends and does ----------------------------------------------------------------------------

    def told(self, event: Event) -> None:
        """Hear an event: `emit` of an agent."""
        match event:
            case Fact(seq, entry):
                if self._durable.get(seq) != entry:
                    self._complain(f"entry {seq} was told before it was durable: {entry}")
                elif self._outside is not None and (*self._outside(), None)[seq - 1] != entry:
                    self._complain(f"entry {seq} was told, and another reader does not find it: {entry}")
            case LiveText(step) | LiveThinking(step) | LiveCall(step) | LivePrompt(step):
                if not self._has(lambda entry: isinstance(entry, RequestStarted) and entry.step == step):
                    self._complain(f"text was told of request {step}, which is not in the journal: {event}")
            case LiveOutput(call):
                self.acts(call)
            case TurnFailed():
                if not self._has(lambda entry: isinstance(entry, TurnEnded) and entry.cause in OF_THE_PROVIDER):
                    self._complain(f"a turn was told to have failed, and the journal does not have its end: {event}")
            case NotRecorded() | CheckFinding() | Shortening():
                pass
        self._send(event)

    def acts(self, call: str) -> None:
        """Hear that a call, or the user's own command, does something."""
        if not self._has(
            lambda entry: (
                (isinstance(entry, CallStarted) and entry.call == call)
                or (isinstance(entry, ShellStarted) and entry.id == call)
            )
        ):
            self._complain(f"{call!r} acts, and the journal does not have that it started")

    def _has(self, matches: Callable[[Entry], bool]) -> bool:
        return any(matches(entry) for entry in reversed(self._durable.values()))

    def _complain(self, what: str) -> None:
        self.complaints.append(what)
