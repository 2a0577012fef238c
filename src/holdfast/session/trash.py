"""Moves the folder of a session into the trash and back."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import StateError
from holdfast.session.storage.lease import Lease
from holdfast.system.durable_files import make_folder, sync_path


def move_folder(folder: Path, into: Path, *, name: str = "") -> Path:
    """Move a session that no other process holds into another folder, durably, and return its new path.

    A rename is atomic: after a crash the session is in one of the two folders.
    """
    try:
        lease = Lease.take(folder)
        try:
            return moved_folder(folder, into, name or folder.name)
        finally:
            lease.release()
    except OSError as error:
        raise StateError(
            f"Session {folder.name!r} cannot be moved to {str(into)!r}: {error.strerror}. "
            "Fix its permissions, or move the session's folder by hand."
        ) from error


def moved_folder(folder: Path, into: Path, name: str) -> Path:
    """Move a session whose lease is held, and return its new path; a name in use there gets a number."""
    make_folder(into)
    number, target = 1, into / name
    while target.exists():  # an older one with the same id was restored and deleted again
        number, target = number + 1, into / f"{name}-{number + 1}"
    folder.rename(target)
    sync_path(into)
    sync_path(folder.parent)
    return target
