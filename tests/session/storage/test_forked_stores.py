"""A program that holds a store and forks: the child can do nothing with it, and nothing it does reaches the parent."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.errors import SessionBusy
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from journal_files import numbered, program
from polling import HANGS

_FORKS = """
import gc, os, sys
from pathlib import Path
from holdfast.errors import HoldfastError
from holdfast.session.storage.row_codec import StoredRow
from holdfast.session.storage.sqlite_store import SqliteStore
from journal_files import fill, numbered
folder = Path(sys.argv[1])
store = SqliteStore.create(folder)
fill(store, 3)
child = os.fork()
if child == 0:
    uses = {
        "append": lambda: store.append([numbered(4)], expected=3),
        "append nothing": lambda: store.append([], expected=3),
        "read": lambda: store.read(),
        "length": lambda: store.length,
        "add rows": lambda: store.add_rows([]),
        "open again": lambda: SqliteStore.open(folder),
    }
    for name, use in uses.items():
        try:
            use()
        except HoldfastError as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        else:
            print(f"{name}: done", flush=True)
    store.close()
    uses.clear()
    del store, uses
    gc.collect()
    sys.exit(0)  # an exit in order: every object is finalized
_, status = os.waitpid(child, 0)
print(f"child ended with {status}", flush=True)
fill(store, 3)
print(f"parent: {store.length}", flush=True)
os.kill(os.getpid(), 9)  # what was appended is in the log alone
"""

_OPEN_FILES = """
import os
def has_lock_open():
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").endswith("/lock"):
                return True
        except FileNotFoundError:  # the folder that is listed
            continue
    return False
"""

_WORKER = f"""
{_OPEN_FILES}
import sys, time
from pathlib import Path
from holdfast.session.storage.sqlite_store import SqliteStore
from journal_files import fill
folder = Path(sys.argv[1])
store = SqliteStore.create(folder)
fill(store, 2)
worker = os.fork()
if worker == 0:
    print(has_lock_open(), flush=True)
    time.sleep(600)
print(worker, flush=True)
time.sleep(600)
"""

_THREADS = f"""
{_OPEN_FILES}
import sys, threading, time
from pathlib import Path
from holdfast.session.storage.lease import Lease, raise_if_busy
folders = [Path(sys.argv[1], str(number)) for number in range(4)]
for folder in folders:
    folder.mkdir()
over = threading.Event()
def take(folder):
    while not over.is_set():
        lease = Lease.take(folder)
        lease.release()
        raise_if_busy(folder)
        time.sleep(0.0005)
threads = [threading.Thread(target=take, args=(folder,)) for folder in folders]
for thread in threads:
    thread.start()
children = []
held = 0
for _ in range(40):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"y" if has_lock_open() else b"n")
        os._exit(0)
    held += os.read(read, 1) == b"y"
    os.close(read), os.close(write)
    os.waitpid(child, 0)
over.set()
for thread in threads:
    thread.join()
print(held, flush=True)
"""

_LATER = """
import os, sys
from pathlib import Path
from holdfast.errors import HoldfastError
from holdfast.session.storage.sqlite_store import SqliteStore
folder = Path(sys.argv[1])
store = SqliteStore.create(folder)
told, tell = os.pipe()
if os.fork() == 0:
    os.close(tell)
    os.read(told, 1)
    try:
        SqliteStore.open(folder)
    except HoldfastError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
    os._exit(0)
store.close()
os.close(tell)
os.wait()
"""


def test_every_use_in_the_child_is_refused_and_the_parent_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    with program(_FORKS, str(folder)) as process:
        lines = process.communicate(timeout=HANGS)[0].splitlines()
    *refused, opened, ended, parent = lines
    assert [line.split(": ")[:2] for line in refused] == [
        [use, "StateError"] for use in ("append", "append nothing", "read", "length", "add rows")
    ]
    for line in refused:
        assert f"cannot be used in a forked process: process {process.pid} opened it before the fork" in line
    assert opened.startswith("open again: SessionBusy: ")
    assert f"(pid {process.pid} on " in opened
    assert (ended, parent) == ("child ended with 0", "parent: 6")
    reading = read_copy(folder)
    assert reading.findings == ()
    assert [record.entry for record in reading.records] == [numbered(seq) for seq in range(1, 7)]


@pytest.mark.parametrize("first", ["the parent", "the child"])
def test_a_worker_that_was_forked_keeps_no_session_busy(tmp_path: Path, first: str) -> None:
    folder = tmp_path / "s"
    with program(_WORKER, str(folder)) as process:
        assert process.stdout is not None
        lines = {process.stdout.readline().strip(), process.stdout.readline().strip()}
        assert "False" in lines, "the worker has a copy of the lock's descriptor"
        (worker,) = (int(line) for line in lines if line.isdigit())
        try:
            with pytest.raises(SessionBusy, match=f"pid {process.pid}"):
                SqliteStore.open(folder)
            if first == "the child":
                os.kill(worker, signal.SIGKILL)
                with pytest.raises(SessionBusy, match=f"pid {process.pid}"):
                    SqliteStore.open(folder)
            process.kill()
            process.wait(timeout=HANGS)
            store = SqliteStore.open(folder)
            assert store.length == 2
            store.close()
        finally:
            os.kill(worker, signal.SIGKILL)


def test_a_fork_while_leases_come_and_go_keeps_none(tmp_path: Path) -> None:
    with program(_THREADS, str(tmp_path)) as process:
        assert process.communicate(timeout=HANGS)[0] == "0\n"


def test_a_child_can_never_open_what_its_parent_had_open(tmp_path: Path) -> None:
    with program(_LATER, str(tmp_path / "s")) as process:
        said = process.communicate(timeout=HANGS)[0]
    assert said.startswith(
        "StateError: Session 's' cannot be opened in this process: it was forked while its parent had"
    )
