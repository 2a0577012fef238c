"""One writer: the lease is refused at once, says who holds it, and dies with its process and only with it."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import threading
from pathlib import Path

import pytest

from holdfast.errors import SessionBusy
from holdfast.session.storage.lease import Lease, raise_if_busy
from journal_files import program
from polling import HANGS, slowness

_HOLD = """
import subprocess, sys
from pathlib import Path
from holdfast.session.storage.lease import Lease
lease = Lease.take(Path(sys.argv[1]))
child = subprocess.Popen(["/bin/sleep", "60"], close_fds=False)
print(child.pid, flush=True)
sys.stdin.read()
"""

_FORK = """
import os, sys, time
from pathlib import Path
from holdfast.session.storage.lease import Lease
lease = Lease.take(Path(sys.argv[1]))
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
lease.release()
print(child, flush=True)
sys.stdin.read()
"""

_STARTING = """
import ctypes, os, sys
from pathlib import Path
from holdfast.session.storage.lease import Lease
lease = Lease.take(Path(sys.argv[1]))
wait = os.pipe()
child = ctypes.PyDLL(None).fork()  # as C does it that starts a program: Python is not asked
if not child:
    os.close(wait[1])
    os.read(0, 1)  # what it is about to run waits for the test
    os.execv("/bin/sleep", ["sleep", "60"])
print(child, flush=True)
os.read(wait[0], 1)
"""

_TRY = """
import sys, time
from pathlib import Path
from holdfast.errors import SessionBusy
from holdfast.session.storage.lease import Lease
started = time.monotonic()
try:
    Lease.take(Path(sys.argv[1]))
except SessionBusy as error:
    print(time.monotonic() - started, error, flush=True)
else:
    print("taken", flush=True)
"""


def tried(folder: Path) -> str:
    with program(_TRY, str(folder)) as process:
        return process.communicate(timeout=HANGS)[0]


def test_a_held_lease_is_refused_at_once_and_names_its_holder(tmp_path: Path) -> None:
    folder = tmp_path / "20261121-2318-k3f9"
    folder.mkdir()
    lease = Lease.take(folder)
    seconds, _, message = tried(folder).partition(" ")
    assert float(seconds) < slowness()
    assert "Session '20261121-2318-k3f9' is already open in another process" in message
    assert re.search(rf"pid {os.getpid()} on \S+, since \d{{4}}-", message)
    lease.release()
    assert tried(folder) == "taken\n"


def test_a_held_session_is_seen_without_a_lease_and_a_free_one_left_free(tmp_path: Path) -> None:
    raise_if_busy(tmp_path)  # no process ever held it, and it is left like that
    assert list(tmp_path.iterdir()) == []
    lease = Lease.take(tmp_path)
    with pytest.raises(SessionBusy) as busy:
        raise_if_busy(tmp_path)
    assert f"pid {os.getpid()}" in busy.value.holder
    lease.release()
    raise_if_busy(tmp_path)
    Lease.take(tmp_path).release()


def test_two_leases_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path)
    with pytest.raises(SessionBusy) as busy:
        Lease.take(tmp_path)
    assert busy.value.session == tmp_path.name
    assert f"pid {os.getpid()}" in busy.value.holder
    lease.release()
    Lease.take(tmp_path).release()


def test_releasing_twice_is_fine_and_the_file_stays(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path)
    lease.release()
    lease.release()
    assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
    inode = (tmp_path / "lock").stat().st_ino
    Lease.take(tmp_path).release()
    assert (tmp_path / "lock").stat().st_ino == inode


def test_reading_and_closing_the_lock_file_in_this_process_does_not_drop_the_lease(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path)
    (tmp_path / "lock").read_text()
    assert tried(tmp_path) != "taken\n"
    lease.release()


def test_the_lease_is_free_after_kill_although_a_child_lives(tmp_path: Path) -> None:
    with program(_HOLD, str(tmp_path)) as holder:
        assert holder.stdout is not None
        child = int(holder.stdout.readline())
        try:
            with pytest.raises(SessionBusy, match=f"pid {holder.pid}"):
                Lease.take(tmp_path)
            holder.kill()
            holder.wait(timeout=HANGS)
            os.kill(child, 0)  # it lives, and did not inherit the lease
            Lease.take(tmp_path).release()
        finally:
            os.kill(child, 9)


def test_a_child_that_is_being_started_holds_it_for_a_moment_after_a_kill(tmp_path: Path) -> None:
    with program(_STARTING, str(tmp_path)) as starting:
        assert starting.stdout is not None
        assert starting.stdin is not None
        child = int(starting.stdout.readline())
        starting.kill()
        starting.wait(timeout=HANGS)
        try:
            runs = threading.Timer(0.3, starting.stdin.close)
            runs.start()
            Lease.take(tmp_path).release()
            runs.join()
        finally:
            os.kill(child, 9)


def test_a_fork_that_python_does_not_know_of_holds_it_until_it_runs_a_program(tmp_path: Path) -> None:
    with program(_STARTING, str(tmp_path)) as starting:
        assert starting.stdout is not None
        child = int(starting.stdout.readline())
        starting.kill()
        starting.wait(timeout=HANGS)
        try:
            with pytest.raises(SessionBusy, match=f"pid {starting.pid}"):
                Lease.take(tmp_path)
        finally:
            os.kill(child, 9)


def test_release_ends_a_lease_that_a_fork_holds_a_copy_of(tmp_path: Path) -> None:
    with program(_FORK, str(tmp_path)) as forked:
        assert forked.stdout is not None
        child = int(forked.stdout.readline())
        try:
            Lease.take(tmp_path).release()
        finally:
            os.kill(child, 9)


def test_what_the_holder_wrote_cannot_act_on_a_terminal(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path)
    (tmp_path / "lock").write_bytes(b"pid 1 \x1b]0;title\x07\x1b[31m\xff" + b"x" * 10_000)
    with pytest.raises(SessionBusy) as busy:
        Lease.take(tmp_path)
    assert "\x1b" not in str(busy.value)
    assert len(str(busy.value)) < 1000
    lease.release()


def test_a_lease_that_says_nothing_is_still_a_lease(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path)
    (tmp_path / "lock").write_bytes(b"")
    assert "is already open in another process (unknown)" in tried(tmp_path)
    lease.release()
    assert tried(tmp_path) == "taken\n"


def test_a_process_that_opens_a_session_twice_reads_that_it_has_it(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path)
    for open_it in (lambda: Lease.take(tmp_path), lambda: raise_if_busy(tmp_path)):
        with pytest.raises(SessionBusy, match="is already open in this process"):
            open_it()
    lease.release()


def test_a_lock_that_was_moved_away_between_opening_and_locking_is_no_lease(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    flock, times = fcntl.flock, list[int]()

    def moved_first(descriptor: int, how: int) -> None:
        times.append(how)
        if len(times) == 1:
            folder.rename(tmp_path / "trash")
            folder.mkdir()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", moved_first)
    lease = Lease.take(folder)
    with pytest.raises(SessionBusy):
        Lease.take(folder)
    lease.release()
    assert Lease.take(tmp_path / "trash") is not None
