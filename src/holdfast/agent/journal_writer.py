"""The session's journal as this process writes it: append durably, fold, then emit.

Whatever is emitted is already on disk. Everything in the agent that must not be lost goes through `append`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.agent.checkpoints import Checkpoints
from holdfast.agent.conversation_checks import Checks
from holdfast.agent.events import Event, Fact, NotRecorded
from holdfast.errors import AppendConflict, StorageFailed
from holdfast.session.conversation.call_repeats import CallRepeats
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.fold import Fold
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.journal.entries import (
    Entry,
    FolderGone,
    HookStarted,
    PromptAccepted,
    Repaired,
    ResponseCheckpoint,
    ResponseEnded,
    ServerFailed,
    ShellStarted,
    TurnEnded,
)
from holdfast.session.journal.store import FoldStore, Reading, Store, StoredEntry, StreamingStore
from holdfast.session.journal.tasks import TaskStarted

if TYPE_CHECKING:
    from holdfast.agent.model_request.streamed_text import StreamedText


class JournalWriter:
    """The journal of one session. `emit` gets each entry once it is durable.

    `reading` is the content of the store. `reread` gets it again after another process has appended.
    """

    def __init__(
        self,
        store: Store,
        reading: Reading,
        *,
        checks: Checks,
        emit: Callable[[Event], None],
        reread: Callable[[Reading], None],
    ) -> None:
        self._store = store
        self._checks = checks
        self._emit = emit
        self._reread = reread
        self._reported = ""  # the last storage failure that was emitted
        self._streamed: StreamedText | None = None
        self.own_hooks: set[str] = set()
        """The hooks that this process started: recovery leaves their end to it."""
        self._load(reading)

    def _load(self, reading: Reading) -> None:
        resumed = reading if isinstance(reading, ResumedReading) else None
        self.checkpoints = Checkpoints(self._store, reading)
        """The checkpoints of the journal."""
        self.fold = Fold() if resumed is None else self.checkpoints.restored(resumed)
        """The fold of the journal, to be read: only `append` adds to it."""
        self.failed_servers: dict[str, str] = {} if resumed is None else dict(resumed.checkpoint.failed_servers)
        """Why MCP servers failed of which the journal says so, until they are known to work again."""
        self.folder_gone = "" if resumed is None else resumed.checkpoint.folder_gone
        """The session's folder, if the journal says that it does not exist, until it is known to exist again."""
        self.repeats = CallRepeats()
        """How often the calls of the turn repeat, to be read."""
        for record in reading.records:
            if resumed is None or record.seq > resumed.seq:
                self.fold.add(record.entry, seq=record.seq)
                self._note(record.entry, record.seq, record.at)
        self._length = self._store.length

    @property
    def conversation(self) -> Conversation:
        """Return the current conversation."""
        return self.fold.conversation()

    def stored(self) -> Reading:
        """Return what the journal holds now."""
        return self._store.read()

    def stored_after(self, seq: int) -> tuple[StoredEntry, ...]:
        """Return the entries after a position."""
        reading = self._store.read_after(seq) if seq and isinstance(self._store, FoldStore) else None
        return tuple(each for each in (reading or self.stored()).records if each.seq > seq)

    def entries(self) -> Iterator[Entry]:
        """Yield the journal's entries."""
        return (record.entry for record in self.stored().records)

    def new_id(self, letter: str) -> str:
        """Return an id for the next entry, unique in this session. Calls have ids of another kind."""
        return f"{letter}{self._length + 1}"

    def append(self, *entries: Entry) -> None:
        """Append durably, fold, then emit; always in this order, and only here."""
        if not entries:
            return
        streamed = None if isinstance(entries[0], ResponseCheckpoint | ResponseEnded) else self._streamed
        if streamed is not None and (checkpoint := streamed.checkpoint()) is not None:
            entries = (checkpoint, *entries)  # what was shown before a fact is journalled before it
        self._checks.check(lambda: self.fold.after(entries), "Before an append")
        try:
            self._length = self._store.append(entries, expected=self._length)
        except AppendConflict:
            reading = self._store.read()  # another process has appended: the next append goes after its entries
            self._load(reading)
            self._reread(reading)
            raise
        self._reported = ""
        if streamed is not None:
            streamed.clear()
        if any(isinstance(entry, ResponseEnded | TurnEnded) for entry in entries):
            self._streamed = None
        for seq, entry in enumerate(entries, start=self._length - len(entries) + 1):
            self.fold.add(entry, seq=seq)
            self._note(entry, seq, time.time())
            if isinstance(entry, HookStarted):
                self.own_hooks.add(entry.id)
            if isinstance(entry, Repaired):
                self._checks.add_journalled(entry.findings)
        for seq, entry in enumerate(entries, start=self._length - len(entries) + 1):
            self._emit(Fact(seq, entry))

    def write_checkpoint(self) -> None:
        """Write a checkpoint if enough was journalled since the last one, for the next process. It is only a cache."""
        if self.checkpoints.is_due:
            reported = self._checks.journalled
            self.checkpoints.write(
                self.fold,
                length=self._length,
                reported=reported,
                failed_servers=self.failed_servers,
                folder_gone=self.folder_gone,
            )

    def begin_streaming(self, streamed: StreamedText) -> StreamedText:
        """Journal the text of an answer, which collects there, before any other fact. Return `streamed`."""
        self._streamed = streamed
        return streamed

    def keep_streamed(self, checkpoint: ResponseCheckpoint) -> None:
        """Keep text that the next append will hold, in case this process is killed before."""
        if isinstance(self._store, StreamingStore):
            with suppress(StorageFailed):  # the next append says so, within a second
                self._store.keep_streamed(checkpoint, expected=self._length)

    def _note(self, entry: Entry, seq: int, at: float) -> None:
        self.repeats.add(entry)
        if isinstance(entry, PromptAccepted):
            self.checkpoints.turn_began = seq
        if isinstance(entry, ShellStarted | TaskStarted):
            self.checkpoints.began[entry.id] = at
        if isinstance(entry, ServerFailed):
            self.failed_servers[entry.server] = entry.reason
        if isinstance(entry, FolderGone):
            self.folder_gone = entry.folder

    def not_recorded(self, failed: BaseException) -> None:
        """Emit that something could not be journalled, once for each reason."""
        if str(failed) != self._reported:
            self._reported = str(failed)
            self._emit(NotRecorded(str(failed)))
