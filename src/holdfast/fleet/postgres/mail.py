"""Watches the inboxes of a worker's sessions for new rows."""

from __future__ import annotations

import threading
from collections.abc import Callable

from holdfast.fleet.postgres.database import Database


class Mail:
    """Notifies the sessions of one worker of new rows, with one query for all of them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._watched: dict[str, Callable[[], None]] = {}
        self._seen: dict[str, int] = {}

    def add(self, session: str, changed: Callable[[], None]) -> None:
        """Watch the inbox of a session, and call `changed` for new rows."""
        with self._lock:
            self._watched[session] = changed
            self._seen.pop(session, None)

    def remove(self, session: str) -> None:
        """Stop watching the inbox of a session."""
        with self._lock:
            self._watched.pop(session, None)
            self._seen.pop(session, None)

    def check(self) -> None:
        """Check the inboxes once, and notify the sessions with new rows."""
        with self._lock:
            watched = list(self._watched)
        if not watched:
            return
        rows = self._database.call(
            "select session, max(id) from holdfast.inbox where done is null and session = any(%s) group by session",
            watched,
        )
        with self._lock:
            for session, newest in rows:
                assert isinstance(newest, int)
                name = str(session)
                if self._seen.get(name, 0) < newest and (changed := self._watched.get(name)) is not None:
                    self._seen[name] = newest
                    changed()

    def close(self) -> None:
        """Close the connection."""
        self._database.close()
