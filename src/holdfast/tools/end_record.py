"""How a command ended, in a file beside its live output: what a later start knows if the agent did not live to hear it.

Two rules. A record counts only with the seal whose hash is in the name of the live output. The journal has that name
before the command begins; the seal itself only agent and keeper know, until the keeper writes it down with the record,
when the command and all it started are gone. It imports the standard library only, because the keeper does.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from binascii import crc32

TYPE_CHECKING = False  # as typing has it, without the cost of its import
if TYPE_CHECKING:
    from pathlib import Path

LONGEST = 16_384
"""Bytes of a record; the keeper's are a few hundred."""

ALONE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""How a file is opened in a folder that commands can write to: it leads nowhere else, and nobody is waited for."""


def sealed(call: str) -> tuple[str, str]:
    """Return the name of the live output of a call, and a new seal for the record of its end."""
    seal = os.urandom(16).hex()
    return f"{call}.{_hash(seal)}.out", seal


def end_of(spool: Path) -> Path:
    """Return where the keeper writes how a command ended."""
    return spool.with_name(f"{spool.name}.end")


def write_end(path: str, seal: str, ended: str) -> None:
    """Write a record in place of whatever is there; without a seal none is wanted. Never raises."""
    if not seal:
        return
    with contextlib.suppress(OSError):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # noqa: PTH108 - the keeper does without pathlib, which is slow to import
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, f"{seal} {crc32(ended.encode()):08x}\n{ended}".encode())
        finally:
            os.close(file)


def read_end(spool: Path) -> bytes | None:
    """Return the record of the command whose live output is `spool`, None if there is none that counts."""
    try:
        raw = read_alone(end_of(spool), LONGEST)  # of a longer one the checksum does not fit
    except OSError:
        return None
    head, _, ended = raw.partition(b"\n")
    seal, _, check = head.partition(b" ")
    wanted = spool.name.removesuffix(".out").rpartition(".")[2]
    counts = seal.isalnum() and _hash(seal.decode("ascii", "replace")) == wanted
    return ended if counts and check == b"%08x" % crc32(ended) else None


def read_alone(path: Path, most: int) -> bytes:
    """Return up to `most` bytes of a regular file; raises `OSError` for anything else, a pipe or a link for example."""
    with open_alone(path) as file:
        return file.read(most)


def open_alone(path: Path) -> io.FileIO:
    """Return a regular file, open for reading; raises `OSError` for anything else, and waits for no other process."""
    file = io.FileIO(os.open(path, os.O_RDONLY | ALONE))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path.name} is not a regular file")
    return file


def _hash(seal: str) -> str:
    from hashlib import sha256  # noqa: PLC0415 - 5 ms, and the keeper needs none

    return sha256(seal.encode()).hexdigest()[:32]
