"""The places that edits name, and how their sentences write them."""

from __future__ import annotations

import msgspec

from holdfast.history.shape import Path, position


class EditRecord(msgspec.Struct, frozen=True, gc=False, tag_field="edit"):
    """What all edits share: the tag is the field `edit`."""


class EditPlace(msgspec.Struct, frozen=True, gc=False):
    """An insertion place: after message `message`, or `into` it, after the results it begins with."""

    message: int
    into: bool = False


def spot(message: int, part: int | None) -> str:
    """Return the position of a message, or of the part that is sent as a message."""
    return position((message,) if part is None else (message, "parts", part))


def all_of(paths: tuple[Path, ...]) -> str:
    """Return the positions of all the places."""
    return " and ".join(position(path) for path in paths)


def short(text: str) -> str:
    """Return the text in quotes, truncated if it is long."""
    return repr(text if len(text) <= 60 else f"{text[:57]}...")  # noqa: PLR2004 - a line's worth
