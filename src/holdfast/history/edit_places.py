"""Formats the places and names of an edit for its sentence."""

from __future__ import annotations

from holdfast.history.shape import Path, position


def spot(message: int, part: int | None) -> str:
    """Return the position of a message, or of the part that is sent as a message."""
    return position((message,) if part is None else (message, "parts", part))


def all_of(paths: tuple[Path, ...]) -> str:
    """Return the positions of all the places."""
    return " and ".join(position(path) for path in paths)


def short(text: str) -> str:
    """Return the text in quotes, truncated if it is long."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")  # noqa: PLR2004 - a line's worth
