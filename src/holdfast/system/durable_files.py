"""Files that survive power loss: synced, and replaced as a whole.

The functions do not depend on a file's content. A file name is durable only after its folder is synced, so both are.
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
STREAMED = "streamed"
UNDO_FOLDER = "undo"
LOCK_FILE = "lock"
ABOUT = "about.json"
FOLD = "fold.cache"

Stamp = tuple[tuple[int, int], ...]
"""What identifies the state of some files without reading them: modification time and size of each."""

ABANDONED = 3600.0
"""Seconds after which an unfinished write counts as one of a dead process."""

_TEMPORARY = re.compile(r"\.[0-9a-f]{16}")


def sync(descriptor: int) -> None:
    """Return once the data written to `descriptor` survives power loss."""
    if sys.platform == "darwin":
        import fcntl

        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)  # its fsync leaves the data in the drive's cache
    else:
        os.fsync(descriptor)


def sync_path(path: Path) -> None:
    """Return once the file or folder at `path` survives power loss. For a folder that is its list of names."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create `folder` with mode 0700 if it is missing, durably, with its parents."""
    if not folder.parent.is_dir():
        make_folder(folder.parent)  # sync each name: losing any parent loses the session
    with contextlib.suppress(FileExistsError):  # it exists already
        folder.mkdir(mode=0o700)
    try:
        sync_path(folder.parent)
    except OSError:
        with contextlib.suppress(OSError):  # otherwise the next attempt would treat its name as durable
            folder.rmdir()
        raise


def replace_file(path: Path, data: bytes, *, mode: int = 0o600, durable: bool = True) -> None:
    """Replace `path` by `data` with this mode, atomically and durably.

    Leftovers of an earlier, killed attempt are removed. A cache need not be `durable`: a power loss may leave only
    a part of it, which its reader must detect.
    """
    _sweep(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(data)
            if mode != 0o600:  # noqa: PLR2004 - created with it
                os.fchmod(descriptor, mode)
            if durable:
                sync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if durable:
        sync_path(path.parent)


def _sweep(path: Path) -> None:
    """Remove unfinished copies of `path` that no process works on any more."""
    with contextlib.suppress(OSError):
        for left in path.parent.iterdir():
            suffix = left.name.removeprefix(f".{path.name}")
            if suffix != left.name and _TEMPORARY.fullmatch(suffix) and is_abandoned(left):
                left.unlink()


def is_abandoned(path: Path) -> bool:
    """Return whether `path` was last touched so long ago that its process must be dead."""
    return time.time() - path.lstat().st_mtime > ABANDONED
