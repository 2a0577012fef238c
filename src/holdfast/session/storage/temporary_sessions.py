"""Temporary sessions: deleted when their run ends, or by a later start if the run was killed.

A temporary session is a session like every other, in a folder that no list reads, so that its run keeps every
promise. The lease shows whether its run is still alive: only a folder whose lease is free is deleted.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.session.storage.lease import Lease, raise_if_busy


def delete_temporary(folder: Path) -> bool:
    """Delete a temporary session with all its files, unless another process holds it. Return whether it is deleted."""
    from holdfast.system.deletion import delete_tree

    with contextlib.suppress(OSError, HoldfastError):  # the next start tries again
        lease = Lease.take(folder)
        try:
            delete_tree(folder)
        finally:
            lease.release()
    return not folder.exists()


def delete_abandoned(root: Path) -> None:
    """Delete the temporary sessions under `root` whose runs are dead."""
    for folder in _sessions(root):
        delete_temporary(folder)


def abandoned(root: Path) -> tuple[Path, ...]:
    """Return the temporary sessions under `root` whose runs are dead. Deletes nothing."""
    found: list[Path] = []
    for folder in _sessions(root):
        with contextlib.suppress(OSError, HoldfastError):  # its run is alive, or it cannot be read
            raise_if_busy(folder)
            found.append(folder)
    return tuple(found)


def _sessions(root: Path) -> list[Path]:
    try:
        return sorted(folder for folder in root.iterdir() if folder.is_dir())
    except OSError:  # there are none, or they cannot be read, so not deleted either
        return []
