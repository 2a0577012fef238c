"""Follows journals for everyone who watches: one look for all sessions, and no entry missed or seen twice.

How it works. A watcher registers a queue first and reads the journal after, so nothing can fall between. What comes by
the queue has a position, and only the entry right behind the watcher's own is taken from it: one that is older was read
already, and one that is newer means that something is missing, so the journal is read again. A wake without a position
means the same. So it does not matter how late or how often the queue speaks.

Sessions that this process drives put their entries and their live text into the queue. All others are looked at
together, five times a second, by their lengths.
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
"""Seconds between two looks at the lengths of watched sessions."""
QUIET_FOR = 15.0
"""Seconds after which a watcher hears that it is still connected."""
_PAGE = 500
_MOST_LIVE = 2_000
"""Live events that wait for a slow reader; more are left out, the entries bring their text."""

_Signal = Literal["wake", "end"]
Seen = StoredEntry | Event | None
"""What a watcher gets: an entry, a live event, or None after `QUIET_FOR` seconds without any."""


@runtime_checkable
class LiveSource(Protocol):
    """A record that also has live events."""

    def listen(self, session: str, listener: Callable[[StoredEntry | Event], None]) -> Callable[[], None]:
        """Call `listener`, on any thread, with what happens in the session. Return what ends that."""
        ...


class Watchers:
    """All watchers of one server. Everything but the look runs on one event loop."""

    def __init__(self, record: FleetRecord) -> None:
        self._record = record
        self._loop = asyncio.get_running_loop()
        self._queues: dict[str, list[asyncio.Queue[StoredEntry | Event | _Signal]]] = {}
        self._lengths: dict[str, int] = {}
        self._closed = threading.Event()
        self._watched = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watched sessions", daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        """Return how many watch."""
        return sum(map(len, self._queues.values()))

    @property
    def closed(self) -> bool:
        """Return whether the server ends."""
        return self._closed.is_set()

    async def follow(self, session: str, after: int) -> AsyncGenerator[Seen]:
        """Yield every entry behind `after`, in order and once, and live events, until the server ends.

        Raise `SessionUnknown` for a session that is not there.
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
                    got = await asyncio.wait_for(queue.get(), QUIET_FOR)
                except TimeoutError:
                    yield None
                    continue
                match got:
                    case "end":
                        return
                    case "wake":
                        stale = self._lengths.get(session, 0) > position
                    case StoredEntry(seq=seq):
                        if seq == position + 1:
                            yield got
                            position = seq
                        else:
                            stale = seq > position
                    case _:
                        yield got
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

    def _look(self) -> None:
        said = ""
        while not self._closed.wait(POLL):
            self._watched.wait()
            sessions = list(self._queues)
            if not sessions:
                self._watched.clear()
                if self._queues:  # one came in between
                    self._watched.set()
                continue
            try:
                lengths = self._record.lengths(sessions)
                said = ""
            except HoldfastError as error:  # the database may be back at the next look
                if said != (said := str(error)):
                    debug_log_note(said)
                continue
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake, lengths)

    def _wake(self, lengths: dict[str, int]) -> None:
        for session, length in lengths.items():
            if length != self._lengths.get(session):
                self._lengths[session] = length
                for queue in self._queues.get(session, ()):
                    queue.put_nowait("wake")
