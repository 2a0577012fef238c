"""Server-sent events of a journal, in one of several dialects.

Only the last event of an entry has an `id`: the position of the entry. So a client that reconnects with the last id it
saw gets every entry once. If only some events of an entry arrived, all of them are sent again, with the same bytes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Protocol

import msgspec

from holdfast.agent.events import Event
from holdfast.session.journal.entries import encode
from holdfast.session.journal.store import StoredEntry
from holdfast.ui.service.watchers import WatchedItem

STILL_HERE = b": still here\n\n"


class ServerEvent(msgspec.Struct, frozen=True):
    """One event: its JSON, its name ("" for a plain message), and whether it ends the stream."""

    data: bytes
    name: str = ""
    last: bool = False


class Dialect(Protocol):
    """Translates entries and live events of a session."""

    def of(self, item: StoredEntry | Event) -> Iterable[ServerEvent]:
        """Return the events for an entry or a live event."""
        ...


class HoldfastDialect:
    """The entries in the journal's own format."""

    def of(self, item: StoredEntry | Event) -> Iterable[ServerEvent]:
        """Return the entry, and nothing for a live event: live text has no position."""
        if isinstance(item, StoredEntry):
            yield ServerEvent(entry_json(item), "entry")


def entry_json(record: StoredEntry) -> bytes:
    """Return an entry with its position as JSON, its body as the journal stores it."""
    return b'{"seq":%d,"at":%s,"entry":%s}' % (record.seq, msgspec.json.encode(record.at), encode(record.entry))


async def event_stream(
    items: AsyncIterator[WatchedItem], dialect: Dialect, *, first: bytes = b""
) -> AsyncGenerator[bytes]:
    """Yield the bytes of a stream, starting with `first`. An event is never split."""
    if first:
        yield first
    async for each in items:
        if each is None:
            yield STILL_HERE
            continue
        events = list(dialect.of(each))
        for number, event in enumerate(events, 1):
            event_id = each.seq if isinstance(each, StoredEntry) and number == len(events) else None
            yield event_bytes(event, event_id)
            if event.last:
                return


def event_bytes(event: ServerEvent, event_id: int | None) -> bytes:
    """Return the bytes of one event. JSON has no line breaks, so `data` is one line."""
    lines = [b"data: " + event.data, b"", b""]
    if event.name:
        lines.insert(0, b"event: " + event.name.encode())
    if event_id is not None:
        lines.insert(0, b"id: %d" % event_id)
    return b"\n".join(lines)
