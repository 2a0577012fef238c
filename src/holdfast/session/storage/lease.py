"""The lease on a session: an flock on its `lock` file. It guarantees a single writer.

The file is deleted only with its whole folder, under the lease, and a process that opened it earlier detects that.
Otherwise two processes could each lock a different file of that name. SQLite's own lock is not enough: it is a POSIX
lock, which is dropped when any code of this process opens and closes `session.db`.

A forked process shares the lock with its parent: both hold one open file. So a child gives its copy up, and does it by
closing it. Unlocking there would end the parent's lease. The child also keeps the parent's connection to the database
alive until it exits: closing it would write the log into the database while the parent appends to that log.

Example: a web server forks workers while an agent is open. Each worker closes its copy of the lock, and any use of the
store there raises `StateError`. The agent goes on, and once it is killed, another process can open the session at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import sys
import threading
import time
from pathlib import Path

from holdfast.errors import SessionBusy, StateError, StorageFailed
from holdfast.system.durable_files import LOCK_FILE
from holdfast.text import printable

HOLDER_BYTES = 300
"""Bytes that are read of the line about the holder."""

_PASSING = 2.0
"""Seconds to wait for the lease of a dead process: a child that it was starting has a copy of it until its exec."""

_RETRY = 0.02  # seconds

_no_fork = threading.RLock()
"""Held while a lock file is open that no lease has: a fork in between would keep a copy that nothing closes."""

_leases: set[Lease] = set()

_inherited: set[tuple[int, int]] = set()
"""The lock files (device, inode) whose leases were the parent's when this process was forked."""


class Lease:
    """The right to write one session, held until `release` or the end of the process.

    Python opens files close-on-exec, so a started program does not inherit the lease, and a forked process closes it.
    """

    def __init__(self, descriptor: int) -> None:
        """Hold a lock that this process has just taken; use `take`."""
        self._descriptor: int | None = descriptor
        self._pid = os.getpid()
        self._guarded: object = None
        _leases.add(self)

    def guard(self, connection: object) -> None:
        """Keep a connection alive in a forked process until it exits, because closing it would change the files."""
        self._guarded = connection

    def refuse_in_child(self, what: str) -> None:
        """Raise `StateError` about `what`, the holder, if this process is a fork of the one that took the lease."""
        if os.getpid() != self._pid:
            raise forked(what, self._pid)

    def is_of(self, descriptor: int) -> bool:
        """Return whether this is the lease on the lock file that is open there."""
        return self._descriptor is not None and os.path.samestat(os.fstat(self._descriptor), os.fstat(descriptor))

    @property
    def is_inherited(self) -> bool:
        """Return whether this process is a fork of the one that took the lease."""
        return os.getpid() != self._pid

    @classmethod
    def take(cls, folder: Path) -> Lease:
        """Return the lease on the session in `folder`; raises `SessionBusy` if another process holds it, at once.

        If that process is dead, raises it after two seconds.
        """
        until = time.monotonic() + _PASSING
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            try:
                with _no_fork:
                    lease = cls._tried(folder, flags)
            except SessionBusy as busy:
                if time.monotonic() > until or not _is_dead(busy.holder):
                    raise
                time.sleep(_RETRY)
                continue
            if lease is not None:
                return lease

    @classmethod
    def _tried(cls, folder: Path, flags: int) -> Lease | None:
        """Return the lease, None if the session was moved in between: the lock taken is the moved one's."""
        descriptor = os.open(folder / LOCK_FILE, flags, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise _busy(folder.name, descriptor) from None
            if not _is_at(folder / LOCK_FILE, descriptor):
                os.close(descriptor)
                return None
            _refuse_inherited(folder, descriptor)
        except BaseException:
            os.close(descriptor)
            raise
        with contextlib.suppress(OSError):  # informative only; a full disk must not refuse the lease
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{_myself()}\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Release the lease. Releasing it again does nothing, and in a forked process only its copy is closed."""
        with _no_fork:
            _leases.discard(self)
            if self._descriptor is None:
                return
            descriptor, self._descriptor = self._descriptor, None
            try:
                if not self.is_inherited:
                    fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough if a fork has a copy
            finally:
                os.close(descriptor)

    def give_up_copy(self) -> None:
        """Close the copy of a process that was just forked, without unlocking: the lock is the parent's."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            with contextlib.suppress(OSError):  # its number is remembered in any case
                status = os.fstat(descriptor)
                _inherited.add((status.st_dev, status.st_ino))
            os.close(descriptor)
        if self._guarded is not None:
            import ctypes  # only in a process that was forked with an open session

            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._guarded))  # never finalized, not even at the exit


def raise_if_busy(folder: Path) -> None:
    """Raise `SessionBusy` if another process holds the session in `folder`.

    This reserves nothing. A caller that needs certainty takes the lease.
    """
    with _no_fork:
        try:
            descriptor = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:  # it was never held
            return
        except OSError as error:
            raise StorageFailed(
                f"Session {folder.name!r} cannot be used: its file {LOCK_FILE!r} cannot be opened ({error.strerror}). "
                "Remove that file if no holdfast runs."
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(folder.name, descriptor) from None
        finally:
            os.close(descriptor)


def _refuse_inherited(folder: Path, descriptor: int) -> None:
    """Raise `StateError` if this process was forked while its parent had the session open.

    SQLite remembers the parent's lock on the database for as long as the process lives.
    """
    status = os.fstat(descriptor)
    if (status.st_dev, status.st_ino) in _inherited:
        raise StateError(
            f"Session {folder.name!r} cannot be opened in this process: it was forked while its parent had the session "
            "open. Open it in a new process."
        )


def forked(what: str, opened_by: int) -> StateError:
    """Return the error for the use of a store in a forked process; `opened_by` is the process that opened it."""
    return StateError(
        f"{what} cannot be used in a forked process: process {opened_by} opened it before the fork, and only that "
        "process may use it. Use it there, or open another session here."
    )


def _close_copies() -> None:
    """Give up the leases of the parent in a process that was just forked."""
    while _leases:
        _leases.pop().give_up_copy()
    _no_fork.release()


os.register_at_fork(before=_no_fork.acquire, after_in_parent=_no_fork.release, after_in_child=_close_copies)


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether `path` still names the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _is_dead(holder: str) -> bool:
    """Return whether the holder was a process of this machine that has exited."""
    known = re.match(r"pid (\d+) on (.*), since ", holder)
    if known is None or known[2] != socket.gethostname():
        return False
    try:
        os.kill(int(known[1]), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):  # another user's, or no pid
        return False
    return False


def _myself() -> str:
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    program = Path(sys.argv[0] or sys.executable).name if sys.argv else "python"
    return f"pid {os.getpid()} on {socket.gethostname()}, since {since}, {program}"


def _busy(session: str, descriptor: int) -> SessionBusy:
    holder = printable(os.pread(descriptor, HOLDER_BYTES, 0).decode("utf-8", "replace")).strip()
    msg = f"Session {session!r} is already open in another process ({holder or 'unknown'})."
    if any(lease.is_of(descriptor) for lease in _leases):
        msg = f"Session {session!r} is already open in this process. Use that session, or close it first."
    return SessionBusy(msg, session=session, holder=holder)
