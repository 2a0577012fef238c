"""What an import changed, in sentences: each once, with the messages it applies to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from holdfast.history import Edit

_LISTED = 5


class Changes:
    """Sentences about differences between the journal and the document, each with the messages it applies to."""

    def __init__(self) -> None:
        self._places: dict[str, list[int]] = {}

    def add(self, at: int | None, sentence: str) -> None:
        """Record that `sentence` applies to the message with index `at`; None if a repair rewrote that part."""
        places = self._places.setdefault(sentence, [])
        if at is not None and at not in places[-1:]:
            places.append(at)

    def sentences(self) -> tuple[str, ...]:
        """Return every sentence with its message numbers (from 0, as in the file), in order of first use."""
        return tuple(_placed(places, sentence) for sentence, places in self._places.items())


def edit_sentences(edits: Iterable[Edit]) -> tuple[str, ...]:
    """Return the sentences of the edits. Of many of the same kind, the first few and the number of the others."""
    by_kind: dict[type[Edit], list[str]] = {}
    for edit in edits:
        by_kind.setdefault(type(edit), []).append(edit.sentence)
    return tuple(sentence for sentences in by_kind.values() for sentence in _first(sentences))


def _first(sentences: Sequence[str]) -> Sequence[str]:
    more = len(sentences) - _LISTED
    if more <= 0:
        return sentences
    return (*sentences[: _LISTED - 1], f"{sentences[_LISTED - 1]} The same {more} times more.")


def _placed(places: Sequence[int], sentence: str) -> str:
    if not places:
        return sentence[:1].upper() + sentence[1:]
    shown = ", ".join(str(place) for place in places[:_LISTED])
    more = f" and {len(places) - _LISTED} more" if len(places) > _LISTED else ""
    return f"{'Message' if len(places) == 1 else 'Messages'} {shown}{more}: {sentence}"
