"""Reads SQLite's write-ahead log without SQLite: its damage, its content, and whether a copy is complete.

Only copies of a session's files are written here. The file format is SQLite's, documented at
https://www.sqlite.org/fileformat2.html (section 4), and stable.
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import msgspec

from holdfast.errors import StorageFailed
from holdfast.system.bounded_files import open_unblocked
from holdfast.system.durable_files import DATABASE

PAGE = 4096

LARGEST_JOURNAL = 4 << 30
"""Bytes of a database, and of its log, that are copied to be read."""

_HEADER = 32
_FRAME = 24 + PAGE
_MAGIC = 0x377F0682  # the lowest bit: checksums read big-endian words
_MASK = 0xFFFFFFFF
_MOST_RESTARTS = 1 << 20
_TRIES = 50


def companion_path(database: Path, suffix: str) -> Path:
    """Return the path of the database's companion file ("-wal", "-journal")."""
    return database.with_name(database.name + suffix)


class _Frame(msgspec.Struct, frozen=True):
    index: int
    page: int
    commits: bool
    salts: bytes
    content: bytes


def _frames(wal: bytes) -> Iterator[_Frame]:
    for index, start in enumerate(range(_HEADER, len(wal) - _FRAME + 1, _FRAME)):
        page, size = struct.unpack_from(">II", wal, start)
        yield _Frame(index, page, size != 0, wal[start + 8 : start + 16], wal[start + 24 : start + _FRAME])


def _current(wal: bytes) -> list[_Frame]:
    """Return the frames written since the log was last restarted, with damaged ones, without leftovers."""
    frames = list(_frames(wal))
    if not frames:
        return []
    # Without a header, two that agree: one may be damaged as well.
    agreed = (first.salts for first, second in pairwise(frames) if first.salts == second.salts)
    salts = wal[16:24] if _is_header_valid(wal) else next(agreed, frames[0].salts)
    end = max((frame.index + 1 for frame in frames if frame.salts == salts), default=0)
    return [frame for frame in frames[:end] if not _is_leftover(frame.salts, salts)]


def _is_leftover(salts: bytes, current: bytes) -> bool:
    """Return whether the salts predate the last restart, which increments the first and randomizes the second."""
    restarts = (int.from_bytes(current[:4], "big") - int.from_bytes(salts[:4], "big")) & _MASK
    return salts[4:] != current[4:] and 0 < restarts <= _MOST_RESTARTS


def _add(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    one, two = sums
    for first, second in struct.iter_unpack(f"{order}II", data):
        one = (one + first + two) & _MASK
        two = (two + second + one) & _MASK
    return one, two


def _order(wal: bytes) -> str:
    return ">" if wal[3] & 1 else "<"


def _is_header_valid(wal: bytes) -> bool:
    return struct.unpack_from(">II", wal, 24) == _add((0, 0), wal[:24], _order(wal))


def _valid_frames(wal: bytes) -> int:
    """Return how many frames SQLite will accept, from the first."""
    magic, _, page = struct.unpack_from(">III", wal)
    if magic & ~1 != _MAGIC or page != PAGE or not _is_header_valid(wal):
        return 0
    order = _order(wal)
    sums: tuple[int, int] = struct.unpack_from(">II", wal, 24)
    for frame in _frames(wal):
        start = _HEADER + frame.index * _FRAME
        sums = _add(_add(sums, wal[start : start + 8], order), frame.content, order)
        if frame.salts != wal[16:24] or sums != struct.unpack_from(">II", wal, start + 16):
            return frame.index
    return len(wal[_HEADER:]) // _FRAME


def wal_damage(database: Path) -> str:
    """Return the damage of the log of `database`, "" if there is none.

    SQLite stops at the first bad frame without an error. That is right for the last transaction, which a power loss may
    tear before it was acknowledged. A later commit, however, was acknowledged and would be lost. Nothing is lost if
    SQLite accepts no frame and the database contains them all: then a process was killed while restarting the log.
    """
    path = companion_path(database, "-wal")
    wal = path.read_bytes() if path.is_file() else b""
    if len(wal) < _HEADER + _FRAME:
        return ""
    current = _current(wal)
    if database.stat().st_size < PAGE and current:  # SQLite would delete the log of an empty database
        return "it is empty, but its write-ahead log is not"
    bad = _valid_frames(wal)
    doubtful = [frame for frame in current if frame.index >= bad]
    pages = [frame.page for frame in doubtful if frame.page]  # without a page number it never reached the disk
    # A transaction writes each page once, so a repeated page shows a second one even if its commit is unreadable.
    several = any(frame.commits for frame in doubtful[:-1]) or len(set(pages)) < len(pages)
    if several and (bad or not _moved(database, current)):
        return f"frame {bad + 1} of its write-ahead log does not hold, and later ones were committed"
    return ""


def _moved(database: Path, current: list[_Frame]) -> bool:
    """Return whether the database contains the latest version of each page in the log."""
    pages = database.read_bytes()
    latest = {frame.page: frame.content for frame in current}
    return all(pages[(page - 1) * PAGE : page * PAGE] == content for page, content in latest.items())


def replay(database: Path) -> None:
    """Write every committed page of the log into `database` (a copy), ignoring checksums, and delete the log."""
    path = companion_path(database, "-wal")
    wal = path.read_bytes() if path.is_file() else b""
    path.unlink(missing_ok=True)
    current = _current(wal) if len(wal) >= _HEADER else []
    most = database.stat().st_size // PAGE + len(current)  # a larger page number is itself damage
    waiting: list[_Frame] = []
    with database.open("r+b") as file:
        for frame in current:
            waiting.append(frame)
            if not frame.commits:
                continue
            for page in waiting:
                if 0 < page.page <= most:
                    file.seek((page.page - 1) * PAGE)
                    file.write(page.content)
            waiting.clear()


def copy_files(database: Path, into: Path) -> Path:
    """Return the path of a copy of the database and its companions in the new folder `into`."""
    into.mkdir()
    copy = into / DATABASE
    _copy_bounded(database, copy)
    for suffix in ("-wal", "-journal"):
        if companion_path(database, suffix).is_file():
            _copy_bounded(companion_path(database, suffix), companion_path(copy, suffix))
    return copy


def _copy_bounded(source: Path, target: Path) -> None:
    """Copy a file of a session. Raise `OSError` for one that no holdfast wrote: a pipe, or one that fills the disk."""
    with open_unblocked(source) as file, target.open("xb") as copy:
        if os.fstat(file.fileno()).st_size > LARGEST_JOURNAL:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST_JOURNAL:,} bytes", str(source))
        shutil.copyfileobj(file, copy, 1 << 20)


def snapshot(database: Path, into: Path) -> Path:
    """Return the path of a complete copy in the folder `into`, taken while another process may be writing.

    The database is copied first, the log second. A checkpoint during the copy is harmless: it only moves pages that the
    log still holds, and replaying the log over the copy corrects every half-copied one. Frames appended in between are
    committed or ignored. The only danger is a log that was *restarted* (or removed) in between: its pages are then
    neither in the copied database nor in the log. A restart changes the salts in the log's header, so the copy is
    repeated until the header is the same before the first and after the last byte. Without a log, the database itself
    must not have changed. Raises `StorageFailed` if the writer is always faster.
    """
    for attempt in range(_TRIES):
        try:
            before = _signature(database)
            copy = copy_files(database, into / str(attempt))
            if _signature(database) == before:
                return copy
        except FileNotFoundError:
            if not database.is_file():
                raise
            # The log may vanish while being copied because its writer closed. The next try sees the final state.
        shutil.rmtree(into / str(attempt), ignore_errors=True)
    raise StorageFailed(
        f"Journal {str(database)!r} was rewritten during each of {_TRIES} attempts to copy it. Try again."
    )


def _signature(database: Path) -> tuple[object, ...]:
    log = companion_path(database, "-wal")
    try:
        with open_unblocked(log) as file:
            header = file.read(_HEADER)
    except FileNotFoundError:
        header = b""
    if header:
        return (header,)
    with open_unblocked(database) as file:
        start = file.read(100)
    stat = database.stat()
    return (start, stat.st_ino, stat.st_size, stat.st_mtime_ns, companion_path(database, "-journal").is_file())
