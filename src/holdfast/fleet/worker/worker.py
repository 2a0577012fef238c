"""A worker: its heartbeat in the record, the engine that hands it sessions, and the drivers of these sessions.

Finds what a living worker holds in the record and does not drive, and gives it back.

A fault of the server can come between any two statements: a session is taken and its driver ends before the lease can
be given back, or DBOS cannot record that a look has ended. Other workers leave both alone, because this worker lives.
So each worker compares the record with what it really does. It acts on what it found twice in a row: what began in the
moment between the two questions is not there yet.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from holdfast.errors import HoldfastError, LeaseLost, StateError, StorageFailed
from holdfast.fleet.places.local_places import LocalPlaces
from holdfast.fleet.postgres.claims import NotTaken, PostgresHeldSession, take
from holdfast.fleet.postgres.database import Database, ServerAway
from holdfast.fleet.worker.engine import LOOK_QUEUE, Engine
from holdfast.fleet.worker.heartbeat import Heartbeat
from holdfast.fleet.worker.session_driver import DriveEnd, DriveRules, HostMaker, SessionDriver
from holdfast.session.session_id import LONGEST_ID, is_session_id


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


# --- Tells faults that pass by themselves from those that need a user: only the latter may put a session on hold ---

_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.EINTR})


def is_passing(error: BaseException) -> bool:
    """Return whether the fault may be over soon without anyone's doing: the server is away, a disk or table is full."""
    match error:
        case ServerAway():
            return True
        case OSError():
            return error.errno in _PASSING
        case StorageFailed(__cause__=OSError() as cause):
            return cause.errno in _PASSING
        case _:
            return False


# --- worker ---

_LOG = logging.getLogger("holdfast.fleet")
_FORGET_AFTER = 600.0  # seconds after which the engine's record of an ended workflow is deleted
_MOST_FAILURES = 5


class Worker:
    """One run of a worker, under its own id. After `run` has returned, a new `Worker` may be started.

    Folders of sessions, and repositories on this machine, must lie below one of `roots`. `previous` is the id of a run
    of this process that lost its place and has ended, "" if there is none: its sessions are given back.
    """

    def __init__(  # noqa: PLR0913 - the options of the command
        self,
        url: str,
        *,
        make: HostMaker,
        state: Path,
        slots: int = 16,
        ttl: float = 15.0,
        grace: float = 30.0,
        host: str = "",
        roots: Sequence[Path] = (),
        previous: str = "",
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.id = uuid.uuid4().hex
        self._url = url
        self._make = make
        self._slots = slots
        self._ttl = ttl
        self._grace = grace
        self._host = host or socket.gethostname()
        self._places = LocalPlaces(state, host=self._host, roots=roots)
        self._previous = previous
        self._notify = notify
        self._drivers: dict[str, SessionDriver] = {}
        self._sessions: set[str] = set()
        self._failures: dict[str, int] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._draining = False
        self._heartbeat: Heartbeat | None = None
        self._engine: Engine | None = None

    def run(self) -> bool:
        """Serve until `drain` is called or the heartbeat is lost. Return whether it was lost.

        Raises `ServerAway` if the record cannot be reached at the start, `StorageFailed` if it refuses the worker.
        """
        description: dict[str, object] = {"host": self._host, "pid": os.getpid(), "slots": self._slots}
        with ExitStack() as closing:
            heartbeat = self._heartbeat = Heartbeat(
                self._url,
                self.id,
                ttl=self._ttl,
                description=description,
                on_lost=self._lose,
                on_dead_peer=self._take_over,
            )
            closing.callback(heartbeat.end)
            self._give_back_previous()
            engine = self._engine = Engine(
                self._url,
                worker=self.id,
                host=self._host,
                slots=self._slots,
                every=self._ttl / 6,
                drive=self.drive,
                takeover=lambda session: self.drive(session, one_turn=True),
                sweep=self.sweep,
            )
            closing.callback(engine.end)
            dropped = DroppedWork(
                Database(self._url, patience=self._ttl, name=f"holdfast dropped work {self.id}"),
                self.id,
                every=max(self._ttl / 3, 1.0),
                driven=self._driven_sessions,
                looking=lambda: engine.running,
                cancel=engine.cancel,
                notify=self._notify,
            )
            closing.callback(dropped.end)
            self._notify(f"worker {self.id} on {self._host}: {self._slots} slots")
            self._over.wait()
            self._wait_for_drivers(self._grace + 15.0 if self._draining else self._ttl)
        return heartbeat.is_lost

    def _driven_sessions(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._sessions)

    @property
    def is_idle(self) -> bool:
        """Return whether no session is driven."""
        return not self._sessions

    def drain(self) -> None:
        """Take no new sessions, release the driven ones within the grace, then let `run` return. From any thread."""
        self._draining = True
        with self._lock:
            for driver in self._drivers.values():
                driver.drain()
        self._over.set()

    def drive(self, session: str, *, one_turn: bool = False) -> None:
        """Drive one session until nothing waits in it, or with `one_turn` until one turn has ended."""
        if self._heartbeat is None or self._heartbeat.is_lost or self._draining:
            return
        if not is_session_id(session):  # it would become a folder here
            self._notify(f"session {session[:LONGEST_ID]!r} was not driven: that is not a session's ID")
            return
        with self._lock:
            if session in self._sessions:  # two queues may name it; the driver that runs sees every row
                return
            self._sessions.add(session)
        try:
            self._take(session, self._heartbeat, one_turn=one_turn)
        finally:
            with self._lock:
                self._sessions.discard(session)

    def _take(self, session: str, heartbeat: Heartbeat, *, one_turn: bool) -> None:
        claim = take(self._url, session, self.id, mail=heartbeat.mail)
        if isinstance(claim, NotTaken):
            return
        try:
            end = asyncio.run(self._drive(claim, one_turn=one_turn))
            self._failures.pop(session, None)
        except LeaseLost:
            end = "lost"
        except (HoldfastError, OSError) as error:
            end = self._failed(claim, error)
        finally:
            claim.close()
        if end == "requeue":
            self._enqueue(session)

    async def _drive(self, session: PostgresHeldSession, *, one_turn: bool) -> DriveEnd:
        rules = DriveRules(grace=self._grace, one_turn=one_turn)
        driver = SessionDriver(session, make=self._make, open_place=self._places.open, rules=rules, notify=self._notify)
        with self._lock:
            self._drivers[session.id] = driver
        try:
            if self._draining:
                driver.drain()
            if self._heartbeat is None or self._heartbeat.is_lost:
                return "lost"
            return await driver.run()
        finally:
            with self._lock:
                self._drivers.pop(session.id, None)

    def _failed(self, session: PostgresHeldSession, error: Exception) -> DriveEnd:
        """Release a session that could not be driven: to be tried again, or held after several failures.

        A fault that passes by itself never puts a session on hold, however often it comes.
        """
        count = self._failures.get(session.id, 0) + (0 if is_passing(error) else 1)
        self._failures[session.id] = count
        why = f"It could not be driven on {self._host}: {error}"
        self._notify(f"session {session.id}: {why}")
        is_held = count >= _MOST_FAILURES and not is_passing(error)
        try:
            session.release(hold_reason=why if is_held else "", requeue=not is_held)
        except StateError:  # the record is unreachable: `DroppedWork` gives it back, or a peer if this worker is lost
            return "lost"
        self._over.wait(1.0 if is_passing(error) else min(0.2 * count, 1.0))
        return "held" if is_held else "requeue"

    # --- the sweep ------------------------------------------------------------------------------------------------

    def sweep(self) -> None:
        """Enqueue sessions in which something waits and that no living worker holds."""
        database = Database(self._url, patience=self._ttl, name="holdfast sweep")
        try:
            stale = database.call(
                "select workflow_uuid from dbos.workflow_status as w "
                "where status = 'PENDING' and executor_id is not null and not exists "
                "(select from holdfast.worker where id = w.executor_id and until > clock_timestamp()) limit 500"
            )
            old = database.call(
                "select workflow_uuid from dbos.workflow_status where status in ('SUCCESS', 'ERROR', 'CANCELLED') "
                "and updated_at < extract(epoch from clock_timestamp() - make_interval(secs => %s)) * 1000 limit 500",
                _FORGET_AFTER,
            )
            if self._engine is not None:
                self._engine.cancel([str(row[0]) for row in stale])
                self._engine.forget([str(row[0]) for row in old])
            for session, host, orphan in database.call("select * from holdfast.neglected()"):
                if orphan:
                    database.call("select holdfast.enqueue_takeover(%s, %s)", session, host)
                else:
                    database.call("select holdfast.enqueue(%s, %s)", session, host)
        finally:
            database.close()

    def _take_over(self, peer: str) -> None:
        """Sweep at once: a peer's connection has closed."""
        self._notify(f"worker {peer} is dead: its sessions are taken over")
        self.sweep()

    def _give_back_previous(self) -> None:
        """Give back the sessions of the run before, which has ended: no worker died in them."""
        if not self._previous:
            return
        database = Database(self._url, patience=self._ttl, name="holdfast give back")
        try:
            database.call("select holdfast.bury(%s)", self._previous)
            database.call("select holdfast.let_all_go(%s)", self._previous)
        finally:
            database.close()

    def _enqueue(self, session: str) -> None:
        database = Database(self._url, patience=self._ttl, name="holdfast wake")
        try:
            database.call("select holdfast.enqueue(id, place ->> 'host') from holdfast.session where id = %s", session)
        except StateError:  # the sweep finds it
            _LOG.debug("session %s was not enqueued in %s", session, LOOK_QUEUE)
        finally:
            database.close()

    # --- the end ---------------------------------------------------------------------------------------------------

    def _lose(self) -> None:
        """Stop every turn at once: other workers may take the sessions after a quarter of the time to live."""
        with self._lock:
            for driver in self._drivers.values():
                driver.lose()
        self._notify(f"worker {self.id} lost its place in the fleet: every turn is stopped")
        self._over.set()

    def _wait_for_drivers(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._drivers and time.monotonic() < until:
            time.sleep(0.02)
