"""Files that survive power loss: synced, written whole, named in one place.

Two rules. Nothing here knows what a file means. A name is durable only once its folder is synced, so both are.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import time
from pathlib import Path

DATABASE = "session.db"
BLOBS = "blobs"
LOCK = "lock"
ABOUT = "about.json"

ABANDONED = 3600.0
"""Seconds after which what a process began to write, and did not finish, is taken for that of a dead one."""

_TEMPORARY = re.compile(r"\.[0-9a-f]{16}")


def sync(descriptor: int) -> None:
    """Return once what was written to `descriptor` survives power loss."""
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - only macOS needs it here

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # its fsync leaves the data in the drive's cache
    else:
        os.fsync(descriptor)


def sync_path(path: Path) -> None:
    """Return once the file or folder at `path` survives power loss; for a folder that is its list of names."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create `folder` with mode 0700 if it is not there, durably, and the folders above it."""
    if not folder.parent.is_dir():
        make_folder(folder.parent)  # each name in turn: a session is lost with any folder above it
    with contextlib.suppress(FileExistsError):  # being there already is what was asked for
        folder.mkdir(mode=0o700)
    try:
        sync_path(folder.parent)
    except OSError:
        with contextlib.suppress(OSError):  # else the next attempt would take its name for durable
            folder.rmdir()
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path` by `data` with mode 0600, whole or not at all, durably.

    What a killed process left of an earlier attempt is removed.
    """
    _sweep(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(data)
            sync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_path(path.parent)


def _sweep(path: Path) -> None:
    """Remove the unfinished copies of `path` that no process works on any more."""
    with contextlib.suppress(OSError):
        for left in path.parent.iterdir():
            suffix = left.name.removeprefix(f".{path.name}")
            if suffix != left.name and _TEMPORARY.fullmatch(suffix) and is_abandoned(left):
                left.unlink()


def is_abandoned(path: Path) -> bool:
    """Return whether what is at `path` was last touched so long ago that whoever began it is dead."""
    return time.time() - path.lstat().st_mtime > ABANDONED
