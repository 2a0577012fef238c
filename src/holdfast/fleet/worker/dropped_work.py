"""Finds what a living worker holds in the record and does not drive, and gives it back.

A fault of the server can come between any two statements: a session is taken and its driver ends before the lease can
be given back, or DBOS cannot record that a look has ended. Other workers leave both alone, because this worker lives.
So each worker compares the record with what it really does. It acts on what it found twice in a row: what began in the
moment between the two questions is not there yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from holdfast.errors import StateError
from holdfast.fleet.postgres.database import Database


class DroppedWork:
    """The sessions and looks of one worker, compared every `every` seconds until `end`."""

    def __init__(  # noqa: PLR0913 - what a worker gives
        self,
        database: Database,
        worker: str,
        *,
        every: float,
        driven: Callable[[], Collection[str]],
        looking: Callable[[], Collection[str]],
        cancel: Callable[[Collection[str]], None],
        notify: Callable[[str], None],
    ) -> None:
        """`driven` returns the ids of the sessions that are driven, `looking` those of the workflows that run."""
        self._database = database
        self._worker = worker
        self._every = every
        self._driven = driven
        self._looking = looking
        self._cancel = cancel
        self._notify = notify
        self._sessions: set[tuple[str, str]] = set()
        self._looks: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dropped work", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop comparing."""
        self._over.set()
        self._thread.join()
        self._database.close()

    def check(self) -> None:
        """Compare once, and give back what was found in the check before, too; raises `StateError`."""
        leases = self._database.call("select id, lease::text from holdfast.session where holder = %s", self._worker)
        driven = self._driven()  # asked after the record: what is driven by now is not dropped
        dropped = {(str(session), str(lease)) for session, lease in leases if session not in driven}
        for session, lease in dropped & self._sessions:
            if self._database.call("select holdfast.let_go(%s, %s, %s::uuid)", self._worker, session, lease)[0][0]:
                self._notify(f"session {session} was held and not driven: given back")
        self._sessions = dropped
        begun = self._database.call(
            "select workflow_uuid from dbos.workflow_status where status = 'PENDING' and executor_id = %s", self._worker
        )
        looking = self._looking()
        looks = {str(row[0]) for row in begun} - set(looking)
        if ended := looks & self._looks:
            self._cancel(ended)
        self._looks = looks

    def _run(self) -> None:
        while not self._over.wait(self._every):
            try:
                self.check()
            except StateError:  # the server does not answer: what was found may be old by the next check
                self._sessions, self._looks = set(), set()
