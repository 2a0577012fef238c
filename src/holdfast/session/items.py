"""What an imported document holds, in order, and what the import changed: the words that reading and mending share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.calls import Outcome
from holdfast.session.entries import Part, Usage

_LISTED = 5


class Changes:
    """Sentences on what an import changed, each once, with the messages it was done to."""

    def __init__(self) -> None:
        self._places: dict[str, list[int]] = {}

    def add(self, at: int, sentence: str) -> None:
        """Note that `sentence` is true of the message with index `at`."""
        places = self._places.setdefault(sentence, [])
        if at not in places[-1:]:
            places.append(at)

    def sentences(self) -> tuple[str, ...]:
        """Return every sentence with its messages, counted from 0 as in the file, in the order first noted."""
        return tuple(f"{_where(places)}: {sentence}" for sentence, places in self._places.items())


@dataclass(frozen=True, slots=True)
class Said:
    """What the person wrote, or the earlier program in their place."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Noted:
    """What the model is to be told that nobody said."""

    at: int
    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A result, for whichever call: `id` may be "" or belong to none. `synthetic` if a repair made it up."""

    at: int
    id: str
    name: str
    outcome: Outcome
    text: str
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Wrote:
    """A response; the `id` of its calls is what the document calls them, "" if nothing."""

    at: int
    model: str
    parts: tuple[Part, ...]
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    finish: str | None = None
    was_cut: bool = False


@dataclass(frozen=True, slots=True)
class Instructed:
    """A system prompt, as sent then."""

    at: int
    text: str


Item = Instructed | Said | Noted | Answered | Wrote


def _where(places: Sequence[int]) -> str:
    shown = ", ".join(str(place) for place in places[:_LISTED])
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    return f"{'Message' if len(places) == 1 else 'Messages'} {shown}{more}"
