"""Documents whose messages are not sent one to one: a request of several parts is several messages.

Rules and edits work on the sent messages. Callers get positions in the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from holdfast.history.shape import Path

if TYPE_CHECKING:
    from holdfast.history.edit_places import EditPlace


class Unit(msgspec.Struct, frozen=True, gc=False):
    """A unit that is sent as one message: a message, or some of its `parts`, the first of which is `part`."""

    raw: object
    message: int
    part: int | None = None


@runtime_checkable
class SplitFormat(Protocol):
    """A format whose messages are not sent one to one."""

    def unfold(self, messages: Sequence[object]) -> list[Unit]:
        """Return the units that are sent, in order; no JSON object is in two of them."""
        ...

    def unsent(self, messages: Sequence[object], units: Sequence[Unit]) -> Iterator[tuple[int, object]]:
        """Yield the index and the correction of each invalid message of which no unit is sent."""
        ...

    def fold(
        self, built: Sequence[object], units: Sequence[Unit], messages: Sequence[object], *, frozen: int
    ) -> list[object]:
        """Return the messages; those whose units are unchanged are the same objects."""
        ...


def document_path(path: Path, units: Sequence[Unit]) -> Path:
    """Return the position in the document of a position among the units."""
    if not path or not isinstance(path[0], int):
        return path
    unit, rest = units[path[0]], path[1:]
    if unit.part is None:
        return (unit.message, *rest)
    if not rest:
        return (unit.message, "parts", unit.part)
    if rest[0] == "parts" and len(rest) > 1 and isinstance(rest[1], int):
        return (unit.message, "parts", unit.part + rest[1], *rest[2:])
    return (unit.message, *rest)


def document_place(place: EditPlace, units: Sequence[Unit]) -> EditPlace:
    """Return an insertion place in the document; after a part means into the part's message."""
    unit = units[place.message]
    following = units[place.message + 1] if place.message + 1 < len(units) else unit
    if unit.part is None and following.part is not None:
        return msgspec.structs.replace(place, message=following.message, into=True)
    return msgspec.structs.replace(place, message=unit.message, into=unit.part is not None)
