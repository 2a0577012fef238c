"""The interface of a place: where a session works on one machine, and how another machine gets the same files.

A check must not mislead. After a crash holdfast reads a file to say whether an edit landed. That works only where the
edit was made. In a folder that was restored on another machine the file is "as before", although the edit did land, on
a disk that is lost. So every place has an `identity`: random, written when the files are created. The session's row
names the identity under which its calls began. If the place that a worker opens has a different one, no file is
checked, and the model reads that the machine is lost.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.places.outside_values import folder_below
from holdfast.system.durable_files import make_folder, replace_file

PlaceValues = Mapping[str, object]
"""The description of a place in its session's row, as JSON values: `kind`, and what the kind needs."""


class SessionPlace(Protocol):
    """Where one session works, opened on this machine."""

    @property
    def cwd(self) -> Path:
        """Return the folder that the tools work in."""
        ...

    @property
    def identity(self) -> str:
        """Return the identity of the files: random, and the same if and only if they are the same files."""
        ...

    @property
    def wrap(self) -> tuple[str, ...]:
        """Return the command prefix for the program that runs commands: a sandbox or container, or nothing."""
        ...

    def values(self) -> dict[str, object]:
        """Return the values to store in the session's row."""
        ...

    def save(self, turn: int) -> dict[str, object]:
        """Save the files after `turn`, so that another machine can restore them, and return the row's values."""
        ...

    def close(self, *, remove: bool) -> None:
        """Leave the place; with `remove` its files are deleted, if holdfast made them."""
        ...


class Places(Protocol):
    """Opens the places of sessions."""

    def open(self, session: str, values: PlaceValues) -> SessionPlace:
        """Return the place of a session, created or reopened; raises `StateError` if that is impossible here."""
        ...


# --- A folder of this machine as a session's place: nothing is copied, so only this machine takes the session ---


class FolderPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A folder that exists already; a `SessionPlace`. `row_values` are the values from the session's row."""

    cwd: Path
    identity: str
    host: str
    wrap: tuple[str, ...] = ()
    row_values: dict[str, object] = msgspec.field(default_factory=dict[str, object])

    def values(self) -> dict[str, object]:
        """Return the values to store in the session's row."""
        return {**self.row_values, "kind": "folder", "cwd": str(self.cwd), "host": self.host, "identity": self.identity}

    def save(self, turn: int) -> dict[str, object]:
        """Return the values: a folder needs no saving."""
        del turn
        return self.values()

    def close(self, *, remove: bool) -> None:
        """Do nothing: the folder is the user's."""


def folder_place(
    cwd: Path, *, state: Path, host: str, roots: Sequence[Path], row_values: dict[str, object]
) -> FolderPlace:
    """Return the folder `cwd`, below one of `roots`, as a place; raises `StateError`.

    `state` is where holdfast stores its identity.
    """
    if not cwd.is_absolute() or not cwd.is_dir():
        raise StateError(f"Folder {str(cwd)!r} does not exist on {host}. Make it, or give the session another place.")
    found = folder_below(cwd, roots, "Folder")
    return FolderPlace(cwd=found, identity=identity_of(found, state), host=host, row_values=row_values)


def identity_of(folder: Path, state: Path) -> str:
    """Return the identity of a folder: created once, and again if another folder has taken its path."""
    status = folder.stat()
    mark = f"{status.st_dev}:{status.st_ino}"
    path = state / "identities" / hashlib.sha256(str(folder).encode()).hexdigest()[:32]
    try:
        known, _, identity = path.read_text("utf-8").partition(" ")
        if known == mark and identity:
            return identity
    except OSError:  # not there yet, or unreadable: the files then count as different ones
        pass
    identity = secrets.token_hex(16)
    make_folder(path.parent)
    replace_file(path, f"{mark} {identity}".encode())
    return identity
