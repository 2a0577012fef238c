"""Follows journals for all watchers: one poll for all sessions, and no entry is missed or repeated.

How it works. A watcher first registers a queue and then reads the journal, so no entry is lost in between. Each entry
in the queue has a position, and only the entry right after the watcher's position is used: an older one was read
already, and a newer one means that an entry is missing, so the journal is read again. A wake without a position means
the same. So it does not matter how late or how often the queue is filled.

Sessions that this process drives put their entries and their live text into the queue. All others are polled together
by their lengths, five times a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Literal, Protocol, runtime_checkable

from holdfast.agent.events import Event
from holdfast.errors import HoldfastError
from holdfast.fleet.record import FleetRecord
from holdfast.session.journal.store import StoredEntry
from holdfast.system.threads import in_daemon
from holdfast.ui.startup.debug_log_option import debug_log_note

POLL = 0.2
"""Seconds between two polls of the lengths of watched sessions."""
QUIET_FOR = 15.0
"""Seconds without events after which a watcher gets a keep-alive."""
_PAGE = 500
_MOST_LIVE = 2_000
"""Maximum live events queued for a slow reader. More are dropped: the entries bring their text."""

_Signal = Literal["wake", "end"]
WatchedItem = StoredEntry | Event | None
"""An item for a watcher: an entry, a live event, or None after `QUIET_FOR` seconds without either."""


@runtime_checkable
class LiveSource(Protocol):
    """A record that also has live events."""

    def listen(self, session: str, listener: Callable[[StoredEntry | Event], None]) -> Callable[[], None]:
        """Call `listener`, on any thread, with the session's events. Return a function that ends that."""
        ...


class Watchers:
    """All watchers of one server. Everything but the poll runs on one event loop."""

    def __init__(self, record: FleetRecord) -> None:
        self._record = record
        self._loop = asyncio.get_running_loop()
        self._queues: dict[str, list[asyncio.Queue[StoredEntry | Event | _Signal]]] = {}
        self._lengths: dict[str, int] = {}
        self._closed = threading.Event()
        self._watched = threading.Event()
        self._thread = threading.Thread(target=self._poll_lengths, name="watched sessions", daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        """Return the number of watchers."""
        return sum(map(len, self._queues.values()))

    @property
    def closed(self) -> bool:
        """Return whether the server is shutting down."""
        return self._closed.is_set()

    async def follow(self, session: str, after: int) -> AsyncGenerator[WatchedItem]:
        """Yield every entry after `after`, in order and once, and live events, until the server ends.

        Raise `SessionUnknown` if there is no such session.
        """
        queue: asyncio.Queue[StoredEntry | Event | _Signal] = asyncio.Queue()
        self._queues.setdefault(session, []).append(queue)
        self._watched.set()
        end = self._listen(session, queue)
        try:
            position = after
            stale = True
            while not self._closed.is_set():
                while stale:
                    begin = position
                    page = await in_daemon(lambda begin=begin: self._record.entries(session, begin, limit=_PAGE))
                    for record in page:
                        yield record
                        position = record.seq
                    stale = len(page) == _PAGE
                try:
                    item = await asyncio.wait_for(queue.get(), QUIET_FOR)
                except TimeoutError:
                    yield None
                    continue
                match item:
                    case "end":
                        return
                    case "wake":
                        stale = self._lengths.get(session, 0) > position
                    case StoredEntry(seq=seq):
                        if seq == position + 1:
                            yield item
                            position = seq
                        else:
                            stale = seq > position
                    case _:
                        yield item
        finally:
            end()
            self._queues[session].remove(queue)
            if not self._queues[session]:
                del self._queues[session]

    def close(self) -> None:
        """End every watcher."""
        self._closed.set()
        self._watched.set()
        for queues in self._queues.values():
            for queue in queues:
                queue.put_nowait("end")

    def _listen(self, session: str, queue: asyncio.Queue[StoredEntry | Event | _Signal]) -> Callable[[], None]:
        record = self._record
        if not isinstance(record, LiveSource):
            return lambda: None

        def put(event: StoredEntry | Event) -> None:
            if isinstance(event, StoredEntry) or queue.qsize() < _MOST_LIVE:
                queue.put_nowait(event)

        def listener(event: StoredEntry | Event) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has closed, and no client watches
                self._loop.call_soon_threadsafe(put, event)

        return record.listen(session, listener)

    def _poll_lengths(self) -> None:
        last_error = ""
        while not self._closed.wait(POLL):
            self._watched.wait()
            sessions = list(self._queues)
            if not sessions:
                self._watched.clear()
                if self._queues:  # a watcher was added in between
                    self._watched.set()
                continue
            try:
                lengths = self._record.lengths(sessions)
                last_error = ""
            except (HoldfastError, OSError) as error:  # the database may be back at the next look
                if last_error != (last_error := str(error)):
                    debug_log_note(last_error)
                continue
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake, lengths)

    def _wake(self, lengths: dict[str, int]) -> None:
        for session, length in lengths.items():
            if length != self._lengths.get(session):
                self._lengths[session] = length
                for queue in self._queues.get(session, ()):
                    queue.put_nowait("wake")
