"""How the places and names of an edit are written in its sentence."""

from __future__ import annotations

from holdfast.history.shape import Path, position


def spot(message: int, part: int | None) -> str:
    """Return where a message is, or the part of it that is sent as one."""
    return position((message,) if part is None else (message, "parts", part))


def all_of(paths: tuple[Path, ...]) -> str:
    """Return where each of the places is."""
    return " and ".join(position(path) for path in paths)


def short(text: str) -> str:
    """Return the text in quotes, its end cut off if it is long."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")  # noqa: PLR2004 - a line's worth
