"""A session as the JSON lines of `holdfast -p --output-format stream-json`, each as one event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from holdfast.agent.events import Event, Fact, TurnFailed
from holdfast.errors import ProviderFault
from holdfast.session.conversation.fold import Fold
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import StoredEntry
from holdfast.typed_data import convert_value
from holdfast.ui.headless.json_lines import JsonLines
from holdfast.ui.headless.output_format import RunOpened
from holdfast.ui.headless.turn_end import TurnWatch
from holdfast.ui.service.event_stream import ServerEvent


class StreamJsonDialect:
    """Translates entries and live events. `before` are the entries that the client has: `result` includes them."""

    def __init__(self, session: str, before: Sequence[StoredEntry]) -> None:
        self._lines: list[str] = []
        self._writer = JsonLines(self._lines.append)
        self._watch = TurnWatch()
        self._fold = Fold(())
        for record in before:
            self._take(record.entry, record.seq)
        now = self._fold.conversation()
        opened = now.opened
        self._writer.begin(
            RunOpened(
                session=session,
                model=now.chosen_model,
                mode=now.mode or "ask",
                cwd=opened.cwd if opened else "",
                tools=tuple(tool.name for tool in opened.tools) if opened else (),
                resumed=now.turns > 0,
                settings=now.settings,
            )
        )

    @property
    def first(self) -> list[ServerEvent]:
        """Return the first event: the `init` line. It has no position."""
        return self._drain_lines()

    def of(self, item: StoredEntry | Event) -> Iterable[ServerEvent]:
        """Return the lines of an entry, or of a live event."""
        if not isinstance(item, StoredEntry):
            self._writer.event(item)
            return self._drain_lines()
        self._take(item.entry, item.seq)
        self._writer.event(Fact(item.seq, item.entry))
        if isinstance(item.entry, e.TurnEnded):
            self._writer.end(self._watch.ended(item.entry, self._fold.conversation()))
            self._watch = TurnWatch()
        return self._drain_lines()

    def _take(self, entry: e.Entry, seq: int) -> None:
        self._fold.add(entry)
        if isinstance(entry, e.PromptAccepted):
            self._watch = TurnWatch()
        if isinstance(entry, e.RequestFailed):
            try:
                self._watch.see(TurnFailed(convert_value(entry.fault, ProviderFault)))
            except msgspec.ValidationError:  # a fault of a newer version counts as one that is not retried
                return
        self._watch.see(Fact(seq, entry))

    def _drain_lines(self) -> list[ServerEvent]:
        found = [ServerEvent(line.strip().encode()) for line in self._lines]
        self._lines.clear()
        return found
