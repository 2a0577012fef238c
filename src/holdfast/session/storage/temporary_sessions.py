"""Sessions that are kept only while their run lasts: deleted at its end, or by a later start if the run was killed.

A temporary session is a session like every other, in a folder that no list looks into, so that its run keeps every
promise. The lease says whether its run still lives: only a folder whose lease is free is deleted.
"""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.session.storage.lease import Lease


def delete_temporary(folder: Path) -> bool:
    """Delete a temporary session with all its files, unless another process holds it. Return whether it is deleted."""
    with contextlib.suppress(OSError, HoldfastError):  # the next start tries again
        lease = Lease.take(folder)
        try:
            shutil.rmtree(folder)
        finally:
            lease.release()
    return not folder.exists()


def delete_abandoned(root: Path) -> None:
    """Delete the temporary sessions under `root` whose runs are dead."""
    try:
        folders = list(root.iterdir())
    except OSError:  # there are none, or they cannot be read, so not deleted either
        return
    for folder in folders:
        if folder.is_dir():
            delete_temporary(folder)
