"""The interface of a place: where a session works on one machine, and how another machine gets the same files.

Looking must not lie. After a crash holdfast looks at a file to say whether an edit landed. That is true only where the
edit was made. In a folder that was restored on another machine a file is "as before", while the edit did land, on a
disk that is gone. So every place has an `identity`: random, written when the files are made. The session's row names
the identity under which its calls began. If the place that a worker opens has another, nothing is looked at, and the
model reads that the machine is gone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

PlaceValues = Mapping[str, object]
"""What a session's row says about its place, as JSON values: `kind`, and what the kind needs."""


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
        """Return the words before the program that runs commands: a sandbox around them, or nothing."""
        ...

    def values(self) -> dict[str, object]:
        """Return what the session's row says of the place from now on."""
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
        """Return the place of a session, made or found again; raises `StateError` if that is impossible here."""
        ...
