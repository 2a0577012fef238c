"""A worker's heartbeat: shows other workers that it is alive, and tells it when it no longer counts as alive.

Two clocks. Other workers use only the record's clock: a worker is alive while the time in its row is in the future, and
a row whose time has passed is never renewed. The worker itself uses its own monotonic clock, counted from before its
last renewal was sent, and gives up after three quarters of the time. So it has stopped its turns and ended their
processes before another worker may begin, however long the record took to answer.

Fast detection. Waiting for the time to pass would leave each session of a killed worker without one for `ttl` seconds.
A worker therefore holds an advisory lock on one connection for as long as it runs. A peer that gets that lock knows
that the connection has closed, and declares the worker dead. A broken network then costs an interrupted turn, but never
causes a second writer: the lease prevents that.

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
from holdfast.fleet.postgres.claims import Mail
from holdfast.fleet.postgres.database import Database

_CLASS = 7204
"""The first number of each worker's advisory lock; the second is its slot."""

_GIVE_UP = 0.75  # of the time to live
_BEATS = 6  # in a time to live
_PEERS = 8  # checked in each round
_MAIL = 0.1  # seconds between checks of the inboxes


class Heartbeat:
    """The registration of one worker in the record, renewed until `end`.

    If it cannot be renewed in time, `on_lost` is called, once and on a thread.
    """

    def __init__(  # noqa: PLR0913 - what a worker gives, and how to connect
        self,
        url: str,
        worker: str,
        *,
        ttl: float,
        description: dict[str, object],
        on_lost: Callable[[], None],
        on_dead_peer: Callable[[str], None],
        connect: Callable[..., Database] = Database,
    ) -> None:
        """Register the worker; raises `StorageFailed`. `on_dead_peer` is called with the id of a peer found dead.

        `connect` makes the connections; a test may give others.
        """
        self.worker = worker
        self.is_lost = False
        self._ttl = ttl
        self._on_lost = on_lost
        self._on_dead_peer = on_dead_peer
        self._over = threading.Event()
        # One round may wait as long as the worker may run without an answer, and no longer.
        self._database = connect(url, patience=ttl, name=f"holdfast worker {worker}")
        self.mail = Mail(connect(url, patience=ttl, name=f"holdfast mail {worker}"))
        self._renewed = time.monotonic()
        # In one transaction, so that a peer that sees the worker cannot get its lock while it is alive.
        ((slot, backend, _),) = self._database.call(
            "select slot, pg_backend_pid(), pg_try_advisory_lock(%s, slot) "
            "from holdfast.be_born(%s, %s, %s::jsonb) as slot",
            _CLASS, worker, ttl, _json(description),
        )  # fmt: skip
        assert isinstance(slot, int)
        assert isinstance(backend, int)
        self._slot = slot
        self._locked = backend  # the server process whose connection holds the advisory lock
        self._threads = [
            threading.Thread(target=work, name=name, daemon=True)
            for name, work in (("heartbeat", self._beat), ("watchdog", self._watch), ("mail", self._check_mail))
        ]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Remove the worker from the record and close the connections. Its sessions must have been released."""
        self._over.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        with contextlib.suppress(StateError):  # its time runs out by itself
            self._database.call("select holdfast.bury(%s)", self.worker)
        self._database.close()
        self.mail.close()

    def _beat(self) -> None:
        """Renew the row and check peers, several times in each time to live."""
        while not self._over.wait(self._ttl / _BEATS):
            sent = time.monotonic()
            try:
                self._lock()
                if not self._database.call("select holdfast.beat(%s, %s)", self.worker, self._ttl)[0][0]:
                    self._give_up()
                    return
                self._renewed = sent
                self._check_peers()
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
            self._on_lost()

    def _check_mail(self) -> None:
        while not self._over.wait(_MAIL):
            with contextlib.suppress(StateError):  # the next check finds it
                self.mail.check()

    def _lock(self) -> None:
        """Take the advisory lock again if the connection was reopened."""
        backend = self._database.call("select pg_backend_pid()")[0][0]
        assert isinstance(backend, int)
        if backend == self._locked:
            return
        # If a peer is testing the lock at this moment, the next round gets it.
        if self._database.call("select pg_try_advisory_lock(%s, %s)", _CLASS, self._slot)[0][0]:
            self._locked = backend

    def _check_peers(self) -> None:
        """Declare peers dead whose connection has closed. After a restart of the server all get time to reconnect."""
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
            self._on_dead_peer(str(peer))


def _json(value: dict[str, object]) -> str:
    return msgspec.json.encode(value).decode()
