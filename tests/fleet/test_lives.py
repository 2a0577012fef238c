"""A worker's life, as its peers see it: they find its death by its connection, and its birth is never taken for one."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager

from holdfast.fleet.postgres.database import Database
from holdfast.fleet.worker.heartbeat import Heartbeat
from polling import HANGS, eventually

TTL = 12.0
"""Of the one that looks. After a restart of the server it takes no one for dead for so long."""
LONG = 4 * HANGS
"""Of the others, so that none is found because its time has passed."""

BORN = """
import sys, time
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.worker.heartbeat import Heartbeat
Heartbeat(sys.argv[1], "young", ttl=float(sys.argv[2]), description={}, on_lost=print, on_dead_peer=print)
print("born", flush=True)
time.sleep(1e6)
"""


@contextmanager
def living(url: str, name: str, buried: list[str], ttl: float) -> Generator[Heartbeat]:
    life = Heartbeat(
        url, name, ttl=ttl, description={}, on_lost=lambda: buried.append(name), on_dead_peer=buried.append
    )
    try:
        yield life
    finally:
        life.end()


@contextmanager
def looking(url: str, buried: list[str]) -> Generator[Heartbeat]:
    """Yield a worker whose looks at its peers count."""
    with closing(Database(url)) as database:
        old = "select pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => %s)"
        eventually(lambda: database.call(old, TTL)[0][0], every=0.1)
    with living(url, "elder", buried, TTL) as elder:
        yield elder


def test_a_worker_that_was_just_born_is_not_taken_for_dead(store_url: str) -> None:
    buried: list[str] = []
    over = threading.Event()
    with looking(store_url, buried) as elder, ExitStack() as births:

        def look() -> None:
            while not over.is_set():
                elder._check_peers()

        thread = threading.Thread(target=look)
        thread.start()
        try:
            for number in range(20):
                births.enter_context(living(store_url, f"young {number}", buried, LONG))
        finally:
            over.set()
            thread.join()
        assert buried == []


def test_a_worker_that_dies_at_once_is_found_at_once(store_url: str) -> None:
    buried: list[str] = []
    with looking(store_url, buried) as elder:
        words = [sys.executable, "-c", BORN, store_url, str(LONG)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as young:
            assert young.stdout is not None
            assert young.stdout.readline() == b"born\n"
            young.send_signal(signal.SIGKILL)
        eventually(lambda: elder._check_peers() or buried)
        assert buried == ["young"]
