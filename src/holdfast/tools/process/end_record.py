"""The record of how a command ended, in a file next to its live output, for a holdfast that was not running then.

A record counts only with the seal whose hash is in the name of the live output. The journal has that name before the
command starts. Only agent and supervisor know the seal until the supervisor writes it with the record, when the command
and all its processes have exited. So the command cannot forge its own end. Imports the standard library only, because
the supervisor does.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from binascii import crc32

_TYPE_CHECKING = False  # as in typing, without the cost of its import
if _TYPE_CHECKING:
    from pathlib import Path

LONGEST_RECORD = 262_144
"""Most bytes of a record: mostly a few hundred, with 100 hosts that were refused more."""

_ALONE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags for opening a file in a folder that commands can write to: no links, no blocking on pipes."""


def new_seal(call: str) -> tuple[str, str]:
    """Return the name of a call's live output, and a new seal for the record of its end."""
    seal = os.urandom(16).hex()
    return f"{call}.{_hash(seal)}.out", seal


def end_of(spool: Path) -> Path:
    """Return the path of the record of how a command ended."""
    return spool.with_name(f"{spool.name}.end")


def write_end(path: str, seal: str, ended: str) -> None:
    """Write a record, replacing any other; does nothing without a seal. Never raises."""
    if not seal:
        return
    with contextlib.suppress(OSError):
        try:
            os.unlink(path)  # noqa: PTH108 - the supervisor does without pathlib, which is slow to import
        except FileNotFoundError:
            pass
        except OSError:  # a folder: emptying it could take long, and is done when the call is forgotten
            os.rename(path, f"{path}.{os.urandom(8).hex()}")  # noqa: PTH104 - as above
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, f"{seal} {crc32(ended.encode()):08x}\n{ended}".encode())
        finally:
            os.close(file)


def read_end(spool: Path) -> bytes | None:
    """Return the record of the command with live output `spool`, None if there is no valid one."""
    try:
        raw = read_regular_file(end_of(spool), LONGEST_RECORD)  # a longer one fails the checksum
    except OSError:
        return None
    head, _, ended = raw.partition(b"\n")
    seal, _, check = head.partition(b" ")
    expected_hash = spool.name.removesuffix(".out").rpartition(".")[2]
    is_valid = seal.isalnum() and _hash(seal.decode("ascii", "replace")) == expected_hash
    return ended if is_valid and check == b"%08x" % crc32(ended) else None


def read_regular_file(path: Path, most: int) -> bytes:
    """Return up to `most` bytes of a regular file; raises `OSError` for anything else, such as a pipe or a link."""
    with open_regular_file(path) as file:
        return file.read(most)


def open_regular_file(path: Path) -> io.FileIO:
    """Return a regular file, open for reading; raises `OSError` for anything else. Never blocks."""
    file = io.FileIO(os.open(path, os.O_RDONLY | _ALONE))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path.name} is not a regular file")
    return file


def _hash(seal: str) -> str:
    from hashlib import sha256  # 5 ms, and the supervisor needs none

    return sha256(seal.encode()).hexdigest()[:32]
