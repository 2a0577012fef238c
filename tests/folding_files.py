"""A file system that takes two spellings of a name for one, as vfat, APFS and ext4 with casefold do; read-only.

    python folding_files.py SOURCE MOUNT      serves the files of SOURCE at MOUNT until it is unmounted; for root

It speaks the kernel's own protocol of FUSE, so that it needs no library: only `/dev/fuse`, and the right to mount.
Names are compared without case, in one form of Unicode; a listing shows them as they are on disk.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
from enum import IntEnum
from pathlib import Path
from unicodedata import normalize


class Kind(IntEnum):
    """The kinds of requests, as the kernel numbers them."""

    LOOKUP = 1
    FORGET = 2
    GETATTR = 3
    READLINK = 5
    OPEN = 14
    READ = 15
    STATFS = 17
    RELEASE = 18
    FLUSH = 25
    INIT = 26
    OPENDIR = 27
    READDIR = 28
    RELEASEDIR = 29
    ACCESS = 34
    INTERRUPT = 36
    DESTROY = 38
    FORGET_MANY = 42


_UNANSWERED = (Kind.FORGET, Kind.FORGET_MANY, Kind.INTERRUPT)
_REQUEST = struct.Struct("<IIQQIIII")
_MOST = 1 << 20


class FoldingFiles:
    """The files below a folder. Each spelling of a path has its own number, and both lead to one file."""

    def __init__(self, source: Path) -> None:
        self._paths = {1: source}
        self._numbers = {str(source): 1}

    def answer(self, kind: int, node: int, body: bytes) -> bytes:  # noqa: PLR0911 - one for each kind
        """Return the answer to a request; raises `OSError`."""
        path = self._paths.get(node, Path())
        match kind:
            case Kind.INIT:
                return struct.pack("<IIIIHHIIHH8I", 7, 31, 0, 0, 12, 9, 131_072, 1, 32, 0, *[0] * 8)
            case Kind.LOOKUP:
                return self._found(path, body.rstrip(b"\0").decode())
            case Kind.GETATTR:
                return struct.pack("<QII", 0, 0, 0) + _attributes(path)
            case Kind.READLINK:
                return os.fsencode(path.readlink())
            case Kind.OPEN | Kind.OPENDIR:
                return struct.pack("<QII", 0, 0, 0)
            case Kind.READ:
                _, offset, size = struct.unpack_from("<QQI", body)
                return path.read_bytes()[offset : offset + size]
            case Kind.READDIR:
                _, offset, size = struct.unpack_from("<QQI", body)
                return _listing(path, offset, size)
            case Kind.STATFS:
                return struct.pack("<5Q4I6I", *[0] * 5, 512, 255, 512, 0, *[0] * 6)
            case Kind.RELEASE | Kind.FLUSH | Kind.RELEASEDIR | Kind.ACCESS | Kind.DESTROY:
                return b""
            case _:
                raise OSError(errno.ENOSYS, "not known")

    def _found(self, folder: Path, name: str) -> bytes:
        there = next((each for each in folder.iterdir() if _key(each.name) == _key(name)), None)
        if there is None:
            raise FileNotFoundError(errno.ENOENT, "no such name")
        number = self._numbers.setdefault(f"{folder}/{name}", len(self._numbers) + 1)
        self._paths[number] = there
        return struct.pack("<QQQQII", number, 0, 0, 0, 0, 0) + _attributes(there)


def _key(name: str) -> str:
    return normalize("NFD", normalize("NFD", name).casefold())


def _attributes(path: Path) -> bytes:
    found = path.lstat()
    times = [int(each) for each in (found.st_atime, found.st_mtime, found.st_ctime)]
    parts = [each % 1_000_000_000 for each in (found.st_atime_ns, found.st_mtime_ns, found.st_ctime_ns)]
    owner = (found.st_mode, found.st_nlink, found.st_uid, found.st_gid, 0, 4096, 0)
    return struct.pack("<6Q10I", found.st_ino, found.st_size, found.st_blocks, *times, *parts, *owner)


def _listing(path: Path, offset: int, size: int) -> bytes:
    rows = b""
    names = [".", "..", *sorted(each.name for each in path.iterdir())]
    for at, name in enumerate(names[offset:], offset + 1):
        raw = os.fsencode(name)
        found = (path / name).lstat()
        row = struct.pack("<QQII", found.st_ino, at, len(raw), stat.S_IFMT(found.st_mode) >> 12) + raw
        row += b"\0" * (-len(row) % 8)
        if len(rows) + len(row) > size:
            break
        rows += row
    return rows


def main(source: str, mount: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other,default_permissions"
    if libc.mount(b"folding", os.fsencode(mount), b"fuse", 1, options.encode()):
        raise OSError(ctypes.get_errno(), "it cannot be mounted", mount)
    sys.stdout.write("mounted\n")
    sys.stdout.flush()
    files = FoldingFiles(Path(source))
    while True:
        try:
            request = os.read(device, _MOST + 4096)
        except OSError as error:
            if error.errno == errno.ENODEV:  # it was unmounted
                return
            raise
        _, kind, unique, node, *_ = _REQUEST.unpack_from(request)
        if kind in _UNANSWERED:
            continue
        try:
            answer, code = files.answer(kind, node, request[_REQUEST.size :]), 0
        except OSError as error:
            answer, code = b"", -(error.errno or errno.EIO)
        os.write(device, struct.pack("<IiQ", 16 + len(answer), code, unique) + answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
