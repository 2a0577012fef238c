"""A worker's life: how others know that it is there, and how it knows that it no longer counts.

Two clocks. Others judge by the record's clock alone: a worker lives while its row says a time in the future, and a row
whose time has passed is never made live again. The worker judges itself by its own monotonic clock, counted from before
its last renewal was sent, and gives up at three quarters of the time. So it has stopped its turns and ended their
processes before anyone else may begin, however long the answer of the record took.

Quick death. Waiting for the time to pass would leave each session of a killed worker alone for `ttl` seconds. A worker
therefore holds an advisory lock on one connection for as long as it lives. A peer that gets that lock knows
that the connection is gone, and declares the worker dead. A broken network then costs an interrupted turn, and never a
second writer: that is what the lease is for.

Why separate threads? A first launch of DBOS takes longer than a short `ttl`, and a journal append blocks the event
loop it is on. A heartbeat must wait for neither.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.mail import Mail

_CLASS = 7204
"""The first number of each worker's advisory lock; the second is its slot."""

_GIVE_UP = 0.75  # of the time to live
_BEATS = 6  # in a time to live
_PEERS = 8  # looked at in each round
_MAIL = 0.1  # seconds between looks into the inboxes


class Heartbeat:
    """The life of one worker, from its birth to its burial. `lost` is called once, on a thread, if it ends early."""

    def __init__(
        self,
        url: str,
        worker: str,
        *,
        ttl: float,
        about: dict[str, object],
        lost: Callable[[], None],
        orphaned: Callable[[str], None],
    ) -> None:
        """Begin a life; raises `StorageFailed`. `orphaned` is called with a peer that was found dead."""
        self.worker = worker
        self.is_lost = False
        self._ttl = ttl
        self._lost = lost
        self._orphaned = orphaned
        self._over = threading.Event()
        # One round may wait as long as the worker may live without an answer, and no longer.
        self._database = Database(url, patience=ttl, name=f"holdfast worker {worker}")
        self.mail = Mail(Database(url, patience=ttl, name=f"holdfast mail {worker}"))
        self._renewed = time.monotonic()
        # In one transaction, so that a peer that sees the worker cannot get its lock: dead at once is found at once.
        ((slot, backend, _),) = self._database.call(
            "select slot, pg_backend_pid(), pg_try_advisory_lock(%s, slot) "
            "from holdfast.be_born(%s, %s, %s::jsonb) as slot",
            _CLASS, worker, ttl, _json(about),
        )  # fmt: skip
        assert isinstance(slot, int)
        assert isinstance(backend, int)
        self._slot = slot
        self._locked = backend  # the server process whose connection holds the advisory lock
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for name, work in (("heartbeat", self._beat), ("watchdog", self._watch), ("mail", self._look_for_mail))
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Declare the worker dead by itself, and release everything. Its sessions must have been given back."""
        self._over.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        with contextlib.suppress(StateError):  # the time passes without it
            self._database.call("select holdfast.bury(%s)", self.worker)
        self._database.close()
        self.mail.close()

    def _beat(self) -> None:
        """Renew the life, and look at peers, several times in each time to live."""
        while not self._over.wait(self._ttl / _BEATS):
            sent = time.monotonic()
            try:
                self._lock()
                if not self._database.call("select holdfast.beat(%s, %s)", self.worker, self._ttl)[0][0]:
                    self._give_up()
                    return
                self._renewed = sent
                self._look_at_peers()
            except StateError:  # the record does not answer: the watchdog decides how long that may last
                continue

    def _watch(self) -> None:
        while not self._over.wait(min(0.1, self._ttl / 20)):
            if time.monotonic() - self._renewed > _GIVE_UP * self._ttl:
                self._give_up()
                return

    def _give_up(self) -> None:
        if not self.is_lost and not self._over.is_set():
            self.is_lost = True
            self._lost()

    def _look_for_mail(self) -> None:
        while not self._over.wait(_MAIL):
            with contextlib.suppress(StateError):  # the next look finds it
                self.mail.look()

    def _lock(self) -> None:
        """Hold the advisory lock; a connection that was opened again must get it again."""
        backend = self._database.call("select pg_backend_pid()")[0][0]
        assert isinstance(backend, int)
        if (
            backend != self._locked
            and self._database.call("select pg_try_advisory_lock(%s, %s)", _CLASS, self._slot)[0][0]
        ):  # a peer that tries it this moment has it: the next round gets it
            self._locked = backend

    def _look_at_peers(self) -> None:
        """Declare peers dead whose connection is gone; after a restart of the server all get time to come back."""
        peers = self._database.call(
            "select id, slot from holdfast.worker where until > clock_timestamp() and id <> %s "
            "and pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => %s)",
            self.worker,
            self._ttl,
        )
        for peer, slot in random.sample(peers, min(_PEERS, len(peers))):
            if not self._database.call("select pg_try_advisory_lock(%s, %s)", _CLASS, slot)[0][0]:
                continue
            try:
                self._database.call("select holdfast.bury(%s)", peer)
            finally:
                self._database.call("select pg_advisory_unlock(%s, %s)", _CLASS, slot)
            self._orphaned(str(peer))


def _json(value: dict[str, object]) -> str:
    return msgspec.json.encode(value).decode()
