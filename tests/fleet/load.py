"""Load: how many turns a second 1, 2, 4 and 8 workers drive, what a turn costs, what idle and parked sessions cost.

`python -m tests.fleet.load --workers 1 2 4 8 --seconds 20 --idle 20000 --parked 1000`

A turn is three requests and two commands; the model waits 0.4 s before each answer, as real ones do and longer. The
figures of docs/how-to/fleet.md are from here.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from kept_open import close_all  # noqa: E402 - run as a program, the folder comes first
from servers import fresh_database, own_server  # noqa: E402 - likewise
from worker_programs import Workers  # noqa: E402 - likewise

from holdfast.fleet.postgres.database import Database  # noqa: E402 - likewise
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say, Wait  # noqa: E402 - likewise
from holdfast.testing.scripted_provider import ScriptedProvider  # noqa: E402 - likewise

QUESTION = "write the file"

_TICKS = os.sysconf("SC_CLK_TCK")


def reply(request: ReceivedRequest) -> Reply:
    """Return a command, then another, then an answer; to `QUESTION` a command that needs approval."""
    if QUESTION in str(request.messages[-1]):
        return (Call("bash", {"command": "echo done > made"}),)
    results = 0
    for message in reversed(request.messages):
        if message["role"] == "user":
            break
        results += message["role"] == "tool"
    return (Wait(0.4), Call("bash", {"command": "true"})) if results < len("ab") else (Wait(0.4), Say("Done."))


def seconds_of(pids: Iterable[int]) -> float:
    """Return the processor time of processes, with that of children they have waited for."""
    total = 0
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / _TICKS


def server_pids(workers: Workers) -> list[int]:
    """Return the processes of the server of this run: its first one, and that one's children."""
    database = Database(workers.url)
    backend = database.call("select pg_backend_pid()")[0][0]
    first = Path(f"/proc/{backend}/stat").read_text().rpartition(")")[2].split()[1]
    database.close()
    return [int(first), *map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]


def measured(workers: Workers, count: int, slots: int, seconds: float, folder: Path) -> None:
    """Print how many turns end in a while, and what they cost."""
    for _ in range(count):
        workers.start("--slots", str(slots))
    cwd = folder / "work"
    sessions = [workers.session(cwd, *["go"] * 200) for _ in range(count * slots)]
    while ended(workers) < len(sessions):
        time.sleep(0.2)
    pids = [worker.pid for worker in workers.running]
    before, since = ended(workers), time.monotonic()
    mine, theirs = seconds_of(pids), seconds_of(server_pids(workers))
    time.sleep(seconds)
    turns, passed = ended(workers) - before, time.monotonic() - since
    mine, theirs = seconds_of(pids) - mine, seconds_of(server_pids(workers)) - theirs
    print(
        f"{count} workers of {slots} slots: {turns / passed:.1f} turns/s; "
        f"a turn costs {1000 * mine / max(1, turns):.0f} ms of a worker "
        f"and {1000 * theirs / max(1, turns):.0f} ms of the server (load {os.getloadavg()[0]:.0f})",
        flush=True,
    )


def ended(workers: Workers) -> int:
    database = Database(workers.url)
    count = database.call("select count(*) from holdfast.entry where kind = 'turn-ended'")[0][0]
    database.close()
    assert isinstance(count, int)
    return count


def idle(workers: Workers, count: int, seconds: float) -> None:
    """Print what idle sessions cost."""
    database = Database(workers.url)
    database.script(
        "insert into holdfast.session (id, length, sum) "
        f"select 'idle-' || n, 1, '\\x00' from generate_series(1, {count}) n; "
        "insert into holdfast.entry "
        "select 'idle-' || n, 1, 0, 'session-opened', decode(repeat('7a', 900), 'hex'), '\\x00' "
        f"from generate_series(1, {count}) n; analyze"
    )
    size = database.call("select pg_total_relation_size('holdfast.session') + pg_total_relation_size('holdfast.entry')")
    assert isinstance(size[0][0], int)
    worker = workers.start()
    time.sleep(5)
    mine, theirs, since = seconds_of([worker.pid]), seconds_of(server_pids(workers)), time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - since
    mine, theirs = seconds_of([worker.pid]) - mine, seconds_of(server_pids(workers)) - theirs
    memory = int(Path(f"/proc/{worker.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    connections = database.call("select count(*) from pg_stat_activity where datname = current_database()")[0][0]
    database.close()
    print(
        f"{count} idle sessions, {size[0][0] // max(1, count)} bytes each; "
        f"one idle worker: {100 * mine / passed:.1f} % of a core, the server {100 * theirs / passed:.1f} %, "
        f"{memory} MiB, {connections} connections",
        flush=True,
    )


def parked(workers: Workers, count: int, folder: Path) -> None:
    """Print how long so many turns take until they wait for a user, and a turn beside them; they hold no slot."""
    worker = workers.start("--slots", "4", mode="--permission-mode=ask")
    since = time.monotonic()
    for _ in range(count):
        workers.session(folder / "work", QUESTION)
    while workers.fleet.status().sessions.get("asking", 0) < count or workers.fleet.status().workers[0].holds:
        time.sleep(0.2)
    waited = time.monotonic() - since
    since = time.monotonic()
    workers.session(folder / "work", "go")
    while not ended(workers):
        time.sleep(0.02)
    turn = time.monotonic() - since
    memory = int(Path(f"/proc/{worker.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    database = Database(workers.url)
    connections = database.call("select count(*) from pg_stat_activity where datname = current_database()")[0][0]
    database.close()
    print(
        f"{count} turns wait for an answer after {waited:.0f} s with 4 slots, none of which they hold; "
        f"another turn beside them took {turn:.1f} s; {memory} MiB, {connections} connections",
        flush=True,
    )


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--idle", type=int, default=20_000)
    parser.add_argument("--parked", type=int, default=1_000)
    options = parser.parse_args()
    signal.signal(
        signal.SIGTERM, lambda _number, _frame: sys.exit(143)
    )  # as `timeout` sends it: workers and server are ended
    with own_server() as server:
        counts: list[int] = options.workers
        for count in [*counts, *(word for word in ("idle", "parked") if getattr(options, word))]:
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-load-")))
                provider = stack.enter_context(ScriptedProvider(after=reply))
                url = stack.enter_context(fresh_database(server.url, engine=True))
                workers = Workers(url, folder, provider.environ(), ttl=15.0)
                try:
                    if count == "idle":
                        idle(workers, options.idle, options.seconds)
                    elif count == "parked":
                        parked(workers, options.parked, folder)
                    elif isinstance(count, int):
                        measured(workers, count, options.slots, options.seconds, folder)
                finally:
                    for worker in workers.running:
                        worker.kill()
                    workers.close()
                    close_all()


if __name__ == "__main__":
    main()
