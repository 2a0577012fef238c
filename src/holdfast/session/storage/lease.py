"""The lease on a session: an flock on its `lock` file. It guarantees a single writer.

The file is deleted only with its whole folder, under the lease, and a process that opened it earlier detects that.
Otherwise two processes could each lock a different file of that name. SQLite's own lock is not enough: it is a POSIX
lock, which is dropped when any code of this process opens and closes `session.db`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import socket
import sys
import time
from pathlib import Path

from holdfast.errors import SessionBusy, StorageFailed
from holdfast.system.durable_files import LOCK_FILE
from holdfast.text import printable

HOLDER_BYTES = 300
"""Bytes that are read of the line about the holder."""

_PASSING = 2.0
"""Seconds to wait for the lease of a dead process: a child that it was starting has a copy of it until its exec."""

_RETRY = 0.02  # seconds


class Lease:
    """The right to write one session, held until `release` or the end of the process.

    Python opens files close-on-exec, so a started program does not inherit the lease. A bare fork would.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, folder: Path) -> Lease:
        """Return the lease on the session in `folder`; raises `SessionBusy` if another process holds it, at once.

        If that process is dead, raises it after two seconds.
        """
        until = time.monotonic() + _PASSING
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            descriptor = os.open(folder / LOCK_FILE, flags, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(folder / LOCK_FILE, descriptor):
                    break
            except BlockingIOError:
                busy = _busy(folder.name, descriptor)
                os.close(descriptor)
                if time.monotonic() > until or not _is_dead(busy.holder):
                    raise busy from None
                time.sleep(_RETRY)
                continue
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # the session was moved in between: the lease is for the moved one
        with contextlib.suppress(OSError):  # informative only; a full disk must not refuse the lease
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{_myself()}\n".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        """Release the lease. Releasing it again does nothing."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing is not enough if a fork has a copy
        finally:
            os.close(descriptor)


def raise_if_busy(folder: Path) -> None:
    """Raise `SessionBusy` if another process holds the session in `folder`.

    This reserves nothing. A caller that needs certainty takes the lease.
    """
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
    return SessionBusy(msg, session=session, holder=holder)
