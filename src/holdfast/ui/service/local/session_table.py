"""The sessions as the local server lists them, in memory: a request costs the same however many there are.

How it works. The first request looks at every session, with the index of the catalog. A further one looks only at what
may have changed since: the sessions that this server works on, those used last, and, if the folder of sessions itself
changed, the names that are new or gone. Others change only if another program opens an old session. A thread looks for
these, slowly: it sleeps for most of the time, so that turns do not wait for it.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterator
from itertools import islice

from holdfast.errors import HoldfastError
from holdfast.fleet.record import FleetSession, FleetState
from holdfast.session.catalog import Catalog, SessionSummary
from holdfast.system.durable_files import Stamp
from holdfast.ui.startup.debug_log_option import debug_log_note

LOOKED_AT = 64
"""Sessions, of those used last, that each request looks at."""

_SLICE = 100
_SHARE = 20
"""The thread sleeps so many times as long as it works."""
_PAUSE = 2.0
"""Seconds, at least, between two looks at all sessions."""
_TICK = 0.1
"""Seconds in which a folder may change without a new time."""

_Place = tuple[float, str]


class SessionTable:
    """The sessions of `catalog`, each as `describe` returns it. Any thread may call it.

    `live` returns the summary of a session that this process has open, None for the others.
    """

    def __init__(
        self,
        catalog: Catalog,
        describe: Callable[[SessionSummary], FleetSession],
        *,
        live: Callable[[str], SessionSummary | None],
    ) -> None:
        self._catalog = catalog
        self._describe = describe
        self._live = live
        self._summaries: dict[str, tuple[SessionSummary, Stamp]] = {}
        self._lock = threading.RLock()
        self._rows: dict[str, FleetSession] = {}
        self._order: list[_Place] = []
        self._empty: set[str] = set()  # folders in which a session may be made just now
        self._folder_time = -1
        self._next_look = 0.0
        self._looking: threading.Thread | None = None
        self._closed = threading.Event()

    def sessions(
        self, state: FleetState | None, *, limit: int, after: str, touched: Collection[str]
    ) -> tuple[FleetSession, ...]:
        """Return sessions, most recently used first. Those that are `touched` are looked at again."""
        with self._lock:
            self._follow_folder()
            recent = [session for _, session in self._order[-LOOKED_AT:]]
            for session in {*recent, *touched, *islice(self._empty, LOOKED_AT)}:
                self._look(session)
            self._look_at_all_soon()
            return tuple(islice(self._from(state, after), limit))

    def session(self, session: str) -> FleetSession | None:
        """Return one session, None if there is none."""
        with self._lock:
            self._look(session)
            return self._rows.get(session)

    def close(self) -> None:
        """End the thread that looks at all sessions; it ends behind the one that it looks at."""
        self._closed.set()
        with self._lock:
            looking = self._looking
        if looking is not None:
            looking.join()

    def _from(self, state: FleetState | None, after: str) -> Iterator[FleetSession]:
        last = self._rows.get(after)
        end = len(self._order) if last is None else bisect_left(self._order, _place(last))
        for at in range(end - 1, -1, -1):
            row = self._rows[self._order[at][1]]
            if state is None or row.state == state:
                yield row

    def _look(self, session: str) -> None:
        before, summary = self._rows.get(session), self._summary(session)
        now = None if summary is None else self._describe(summary)
        if before is not None and (now is None or _place(now) != _place(before)):
            del self._order[bisect_left(self._order, _place(before))]
        if now is None:
            self._rows.pop(session, None)
            return
        self._empty.discard(session)
        if before is None or _place(now) != _place(before):
            insort(self._order, _place(now))
        self._rows[session] = now

    def _summary(self, session: str) -> SessionSummary | None:
        if (live := self._live(session)) is not None:
            return live
        found = self._catalog.restamped(session, self._summaries.pop(session, None))
        if found is None:
            return None
        self._summaries[session] = found
        return found[0]

    def _follow_folder(self) -> None:
        """Look at the sessions that came and forget those that went, if the folder changed."""
        changed = self._catalog.folder_time()
        if changed == self._folder_time:
            return
        if self._folder_time < 0 and not self._rows:
            self._summaries = {each[0].id: each for each in self._catalog.stamped()}
            names = set(self._summaries)
        else:
            names = self._catalog.names()
        for session in names ^ self._rows.keys():
            self._look(session)
        self._empty = names - self._rows.keys()
        # A folder that changed just now may change again without a new time.
        self._folder_time = changed if changed / 1e9 < time.time() - _TICK else -1

    def _look_at_all_soon(self) -> None:
        if len(self._rows) <= LOOKED_AT or time.monotonic() < self._next_look or self._looking is not None:
            return
        if self._closed.is_set():
            return
        self._looking = threading.Thread(target=self._look_at_all, name="old sessions", daemon=True)
        self._looking.start()

    def _look_at_all(self) -> None:
        with self._lock:
            sessions = [*self._rows, *self._empty]
        try:
            for begin in range(0, len(sessions), _SLICE):
                started = time.thread_time()
                for session in sessions[begin : begin + _SLICE]:
                    if self._closed.is_set():
                        return
                    with self._lock:  # for one at a time: a request waits for no more
                        self._look(session)
                if self._closed.wait(_SHARE * (time.thread_time() - started)):
                    return
        except HoldfastError as error:  # the disk may be back at the next look
            debug_log_note(str(error))
        finally:
            with self._lock:
                self._next_look = time.monotonic() + _PAUSE
                self._looking = None


def _place(row: FleetSession) -> _Place:
    """Return what the sessions are ordered by."""
    return row.changed, row.id
