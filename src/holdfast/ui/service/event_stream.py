"""Server-sent events of a journal, in one of several dialects.

The `id` of an event is the position of its entry, on the last event of that entry only. So a client that reconnects
with the last id it saw gets every entry once: an entry of which only some events arrived is sent again as a whole, and
its first events are the same bytes as before.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Protocol

import msgspec

from holdfast.agent.events import Event
from holdfast.session.journal.entries import encode
from holdfast.session.journal.store import StoredEntry
from holdfast.ui.service.watchers import Seen

STILL_HERE = b": still here\n\n"


class ServerEvent(msgspec.Struct, frozen=True):
    """One event: its JSON, its name ("" for a plain message), and whether it ends the stream."""

    data: bytes
    name: str = ""
    last: bool = False


class Dialect(Protocol):
    """Translates what happens in a session."""

    def of(self, seen: StoredEntry | Event) -> Iterable[ServerEvent]:
        """Return the events for an entry or a live event."""
        ...


class HoldfastDialect:
    """The entries as the journal has them."""

    def of(self, seen: StoredEntry | Event) -> Iterable[ServerEvent]:
        """Return the entry, and nothing for a live event: live text has no position."""
        if isinstance(seen, StoredEntry):
            yield ServerEvent(entry_json(seen), "entry")


def entry_json(record: StoredEntry) -> bytes:
    """Return an entry with its position as JSON, its body as the journal stores it."""
    return b'{"seq":%d,"at":%s,"entry":%s}' % (record.seq, msgspec.json.encode(record.at), encode(record.entry))


async def event_stream(seen: AsyncIterator[Seen], dialect: Dialect, *, first: bytes = b"") -> AsyncGenerator[bytes]:
    """Yield the bytes of a stream, each event as a whole; `first` comes before everything."""
    if first:
        yield first
    async for each in seen:
        if each is None:
            yield STILL_HERE
            continue
        events = list(dialect.of(each))
        for number, event in enumerate(events, 1):
            own = each.seq if isinstance(each, StoredEntry) and number == len(events) else None
            yield event_bytes(event, own)
            if event.last:
                return


def event_bytes(event: ServerEvent, own: int | None) -> bytes:
    """Return one event as it is sent. JSON has no line breaks, so `data` is one line."""
    lines = [b"data: " + event.data, b"", b""]
    if event.name:
        lines.insert(0, b"event: " + event.name.encode())
    if own is not None:
        lines.insert(0, b"id: %d" % own)
    return b"\n".join(lines)
