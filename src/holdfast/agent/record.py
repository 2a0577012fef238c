"""A session's journal as this process writes it: append durably, fold, then tell.

Two rules. What is told is on disk. What only a journal is needed for is here; what takes time is the driver's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from holdfast.agent.checks import Checks
from holdfast.agent.events import Event, Fact, NotRecorded
from holdfast.agent.waiting import recalled
from holdfast.calls import FileSeen
from holdfast.errors import AppendConflict
from holdfast.session.conversation import Conversation
from holdfast.session.entries import CallStarted, Entry, ModelChanged, Repaired, ResponseEnded, ShellStarted, titled
from holdfast.session.fold import Fold
from holdfast.session.store import Reading, Store


class Record:
    """The journal of one session; `emit` is told each entry once it is durable.

    `reading` is what the store holds, for whoever has just read it.
    """

    def __init__(
        self, store: Store, *, checks: Checks, emit: Callable[[Event], None], reading: Reading | None = None
    ) -> None:
        self._store = store
        self._checks = checks
        self._emit = emit
        self._reported = ""  # the last thing told that could not be journalled
        self._load(reading or store.read())

    def _load(self, reading: Reading) -> None:
        self._fold = Fold(record.entry for record in reading.records)
        self._began = {r.entry.call: r.at for r in reading.records if isinstance(r.entry, CallStarted)}
        self._began |= {r.entry.id: r.at for r in reading.records if isinstance(r.entry, ShellStarted)}
        self._length = self._store.length
        told = {
            finding
            for record in reading.records
            if isinstance(record.entry, Repaired)
            for finding in record.entry.findings
        }
        self._untold = tuple(found.what for found in reading.findings if found.what not in told)
        self._gap = has_gap(reading)
        self._checks.knows(told)
        self._mended = self._checks.found(self.conversation)

    @property
    def conversation(self) -> Conversation:
        """Return the conversation as of now."""
        return self._fold.conversation()

    def new_id(self, letter: str) -> str:
        """Return an id that nothing else of the session has, for the next entry; of calls there are others."""
        return f"{letter}{self._length + 1}"

    def recall(self, message: str) -> str:
        """Take a queued message back and return its words; raises `UsageError` if it waits no more."""
        entry, text = recalled(self.conversation, message)
        self.append(entry)
        return text

    def rename(self, title: str) -> None:
        """Call the session `title`; "" is the first line of its first prompt again."""
        self.append(titled(title))

    def use_model(self, name: str) -> None:
        """Send later requests to `name` (PROVIDER:MODEL)."""
        if name != self.conversation.model:
            self.append(ModelChanged(model=name))

    def append(self, *entries: Entry) -> None:
        """Append durably, fold, then tell: in this order, always here."""
        if not entries:
            return
        self._checks.watch(lambda: self._fold.after(entries), "Before an append")
        try:
            self._length = self._store.append(entries, expected=self._length)
        except AppendConflict:
            self._load(self._store.read())  # somebody else's entries count: the next append goes after them
            raise
        self._reported = ""
        for entry in entries:
            self._fold.add(entry)
        for seq, entry in enumerate(entries, start=self._length - len(entries) + 1):
            self._emit(Fact(seq, entry))

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the step of each answer that is sent."""
        return self._fold.steps

    def entries(self) -> Iterator[Entry]:
        """Yield the journal."""
        return (record.entry for record in self._store.read().records)

    def after(self, *entries: Entry) -> Conversation:
        """Return the conversation as it would be with these entries."""
        return self._fold.after(entries)

    def has_call(self, call: str) -> bool:
        """Return whether the call is part of the conversation, summed up or not; it may have been taken back."""
        return self._fold.has_call(call)

    def knows_call(self, call: str) -> bool:
        """Return whether the id was ever given to a call of this session."""
        return self._fold.knows_call(call)

    def is_open(self, call: str) -> bool:
        """Return whether the call still waits for its outcome."""
        return self._fold.is_open(call)

    def seen(self, path: str) -> FileSeen | None:
        """Return a file as the model last saw it, None if it never did."""
        states = self._fold.files.get(path)
        return states[0] if states else None

    def not_recorded(self, failed: BaseException) -> None:
        """Tell that something could not be journalled, once for each reason."""
        if str(failed) != self._reported:
            self._reported = str(failed)
            self._emit(NotRecorded(str(failed)))


def has_gap(reading: Reading) -> bool:
    """Return whether something behind the last response could not be read: what became of its calls may be in it."""
    last = max((finding.seq or sys.maxsize for finding in reading.findings), default=0)
    responses = (record.seq for record in reversed(reading.records) if isinstance(record.entry, ResponseEnded))
    return last > next(responses, 0)
