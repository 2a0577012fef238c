"""The interface of a place: where a session works on one machine, and how another machine gets the same files.

A check must not mislead. After a crash holdfast reads a file to say whether an edit landed. That works only where the
edit was made. In a folder that was restored on another machine the file is "as before", although the edit did land, on
a disk that is lost. So every place has an `identity`: random, written when the files are created. The session's row
names the identity under which its calls began. If the place that a worker opens has a different one, no file is
checked, and the model reads that the machine is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

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
