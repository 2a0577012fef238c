"""A sign of life beside a running call: what was changed behind the last one may be the work of something else.

While calls that may change files are open, the time of a file in the session's folder is renewed. After a crash, a path
that was changed last before that time was changed while the call ran. One that was changed later may be the user's.
The system gives both times, on one file system: on another one, whose clock may differ, nothing is certain.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import msgspec

BETWEEN_SIGNS = 0.25
"""Seconds between two signs of life."""

_NAME = "alive"


class LastSign(msgspec.Struct, frozen=True):
    """The last sign of life of an earlier process: its `time` in nanoseconds, on the file system `device`."""

    time: int
    device: int

    def is_behind(self, place: Path) -> bool:
        """Return whether what is at a place was changed last before the sign; of what is gone, whether it had gone."""
        status = _status(place)
        if status is not None:
            return status.st_dev == self.device and status.st_ctime_ns <= self.time
        status = next((found for at in place.parents if (found := _status(at)) is not None), None)
        return status is not None and status.st_dev == self.device and status.st_mtime_ns <= self.time


def last_sign(folder: Path) -> LastSign | None:
    """Return the last sign in a session's folder; None if there is none, or the clock was set back since."""
    status = _status(folder / _NAME)
    if status is None or status.st_mtime_ns > time.time_ns():
        return None
    return LastSign(status.st_mtime_ns, status.st_dev)


class SignsOfLife:
    """Gives signs in `folder` from `begin` to `end`."""

    def __init__(self, folder: Path) -> None:
        self._place = folder / _NAME
        self._ended: threading.Event | None = None

    def begin(self) -> None:
        """Give signs from now on."""
        if self._ended is None:
            self._ended = threading.Event()
            threading.Thread(target=self._give, args=(self._ended,), name="signs of life", daemon=True).start()

    def end(self) -> None:
        """Give none from now on."""
        if self._ended is not None:
            self._ended.set()
            self._ended = None

    def _give(self, ended: threading.Event) -> None:
        try:
            self._place.parent.mkdir(mode=0o700, exist_ok=True)
            while not ended.is_set():
                try:
                    os.utime(self._place, follow_symlinks=False)
                except FileNotFoundError:
                    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                    os.close(os.open(self._place, flags, 0o600))
                ended.wait(BETWEEN_SIGNS)
        except OSError:
            return  # without a sign, nothing is certain


def _status(place: Path) -> os.stat_result | None:
    try:
        return place.lstat()
    except OSError:
        return None
