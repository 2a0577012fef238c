"""A worker: a life in the record, an engine that hands out looks, and the sessions it drives."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from holdfast.errors import HoldfastError, LeaseLost, StateError
from holdfast.fleet.places.local_places import LocalPlaces
from holdfast.fleet.postgres.claims import NotTaken, PostgresHeld, take
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.worker.driven_agent import AgentMaker
from holdfast.fleet.worker.engine import LOOK_QUEUE, Engine
from holdfast.fleet.worker.heartbeat import Heartbeat
from holdfast.fleet.worker.session_driver import LookEnd, LookRules, SessionLook

_LOG = logging.getLogger("holdfast.fleet")
_FORGET_AFTER = 600.0  # seconds after which the engine's record of an ended look is deleted
_MOST_FAILURES = 5


class Worker:
    """One life of a worker. After `run` returned, another may begin, under a new id."""

    def __init__(  # noqa: PLR0913 - the options of the command
        self,
        url: str,
        *,
        make: AgentMaker,
        state: Path,
        slots: int = 16,
        ttl: float = 15.0,
        grace: float = 30.0,
        host: str = "",
        said: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.id = uuid.uuid4().hex
        self._url = url
        self._make = make
        self._slots = slots
        self._ttl = ttl
        self._grace = grace
        self._host = host or socket.gethostname()
        self._places = LocalPlaces(state, host=self._host)
        self._said = said
        self._looks: dict[str, SessionLook] = {}
        self._driven: set[str] = set()
        self._failures: dict[str, int] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._draining = False
        self._life: Heartbeat | None = None
        self._engine: Engine | None = None

    def run(self) -> bool:
        """Serve until `drain` or until the life is lost; return whether it was lost, and another may begin.

        Raises `StorageFailed` if the record cannot be reached at the start.
        """
        about: dict[str, object] = {"host": self._host, "pid": os.getpid(), "slots": self._slots}
        life = self._life = Heartbeat(
            self._url, self.id, ttl=self._ttl, about=about, lost=self._lose, orphaned=self._take_over
        )
        try:
            engine = self._engine = Engine(
                self._url,
                worker=self.id,
                host=self._host,
                slots=self._slots,
                every=self._ttl / 6,
                look=self.look,
                takeover=lambda session: self.look(session, one_turn=True),
                sweep=self.sweep,
            )
            self._said(f"worker {self.id} on {self._host}: {self._slots} slots")
            self._over.wait()
            self._wait_for_looks(self._grace + 15.0 if self._draining else self._ttl)
            engine.end()
        finally:
            life.end()
        return life.is_lost

    def drain(self) -> None:
        """Begin no new looks, end the running ones within the grace, then let `run` return. From any thread."""
        self._draining = True
        with self._lock:
            for look in self._looks.values():
                look.drain()
        self._over.set()

    def look(self, session: str, *, one_turn: bool = False) -> None:
        """Look at one session until nothing waits in it, or with `one_turn` until a turn of it has ended."""
        if self._life is None or self._life.is_lost or self._draining:
            return
        with self._lock:
            if session in self._driven:  # two queues may name it; the look that runs sees every row
                return
            self._driven.add(session)
        try:
            self._take(session, self._life, one_turn=one_turn)
        finally:
            with self._lock:
                self._driven.discard(session)

    def _take(self, session: str, life: Heartbeat, *, one_turn: bool) -> None:
        taken = take(self._url, session, self.id, mail=life.mail)
        if isinstance(taken, NotTaken):
            return
        try:
            end = asyncio.run(self._looked(taken, one_turn=one_turn))
            self._failures.pop(session, None)
        except LeaseLost:
            end = "lost"
        except (HoldfastError, OSError) as error:
            end = self._failed(taken, error)
        finally:
            taken.close()
        if end == "again":
            self._enqueue(session)

    async def _looked(self, held: PostgresHeld, *, one_turn: bool) -> LookEnd:
        rules = LookRules(grace=self._grace, one_turn=one_turn)
        look = SessionLook(held, make=self._make, open_place=self._places.open, rules=rules, said=self._said)
        with self._lock:
            self._looks[held.id] = look
        try:
            if self._draining:
                look.drain()
            if self._life is None or self._life.is_lost:
                return "lost"
            return await look.run()
        finally:
            with self._lock:
                self._looks.pop(held.id, None)

    def _failed(self, held: PostgresHeld, error: Exception) -> LookEnd:
        """Give back a session that could not be driven: to be tried again, and held after several failures."""
        count = self._failures[held.id] = self._failures.get(held.id, 0) + 1
        why = f"It could not be driven on {self._host}: {error}"
        self._said(f"session {held.id}: {why}")
        try:
            held.give(why_held=why if count >= _MOST_FAILURES else "", again=count < _MOST_FAILURES)
        except StateError:  # the record is away: this worker's life will end, and a peer takes the session
            return "lost"
        time.sleep(min(0.2 * count, 1.0))
        return "again" if count < _MOST_FAILURES else "held"

    # --- the level ------------------------------------------------------------------------------------------------

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
        """A peer's connection is gone: sweep at once."""
        self._said(f"worker {peer} is dead: its sessions are taken over")
        self.sweep()

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
        """Stop every turn at once: other workers may take the sessions a quarter of the time to live from now."""
        with self._lock:
            for look in self._looks.values():
                look.lose()
        self._said(f"worker {self.id} lost its place in the fleet: every turn is stopped")
        self._over.set()

    def _wait_for_looks(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._looks and time.monotonic() < until:
            time.sleep(0.02)
