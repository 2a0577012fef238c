"""The locks of a session's supervisors: each is held until nothing of its supervisor's commands is left."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import time
from pathlib import Path

from holdfast.system.bounded_files import read_bounded
from holdfast.tools.process.launch import OLDER_SUPERVISOR, SUPERVISOR, SUPERVISOR_LOCK
from holdfast.tools.process.watchdog import GONE

LARGEST_LOCK = 4096
"""Bytes of a lock file that are read; a supervisor writes one word."""


def _lock_files(folder: Path) -> list[Path]:
    """Return the lock files of all supervisors that the session in `folder` has had."""
    return sorted(path for name in (SUPERVISOR, OLDER_SUPERVISOR) for path in folder.glob(f"{name}*.lock"))


async def wait_for_exit(folder: Path, seconds: float = 1.0) -> bool:
    """Wait up to `seconds`; return whether the session's supervisors and all their processes have exited."""
    deadline = time.monotonic() + seconds
    for path in _lock_files(folder):
        lock = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            while not _is_free(lock):
                if time.monotonic() >= deadline:
                    return False
                await asyncio.sleep(0.01)
        finally:
            os.close(lock)
    return True


def left_nothing(folder: Path) -> bool:
    """Return whether the session's last supervisors are known to have left no process."""
    try:
        words = {read_bounded(path, LARGEST_LOCK) for path in _lock_files(folder)}
    except OSError:
        return False
    return words == {GONE}


def remove_locks(folder: Path) -> None:
    """Delete the locks of supervisors that have exited, except the first one's. Never raises.

    Call it after searching for their leftover processes: a lock without `GONE` means that some may be left.
    """
    with contextlib.suppress(OSError):
        for path in _lock_files(folder):
            if path.name != SUPERVISOR_LOCK:
                lock = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    if _is_free(lock):
                        path.unlink()
                finally:
                    os.close(lock)


def _is_free(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
