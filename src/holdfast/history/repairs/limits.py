"""Texts that are too long, and too many calls at once, made to fit.

Everything except the later calls stays with the first part: text, and thinking, which a signature may cover. Results
stand between two parts, so that no rule joins them again.

Shortens what is longer than a provider accepts: its beginning and its end stay, with a note between them.

This is the last step of a repair, after all other edits, because joining messages can make a text too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.edits import Shorten, Split
from holdfast.history.formats.format import as_array, is_object, json_text, quoted_arguments
from holdfast.history.pairing import Pairing
from holdfast.history.rules import Violation
from holdfast.history.rules.profile import TextLimits
from holdfast.history.shape import Grammar, Path


def shorten_edits(left: Iterable[Violation], limits: TextLimits, *, frozen: int) -> Iterator[Shorten]:
    """Yield an edit for each text, and the arguments of each call, that is too long; none of the first messages."""
    for each in left:
        if each.message < frozen:
            continue
        if each.rule == "text-too-long" and limits.text is not None:
            yield Shorten(each.path, limits.text, "text")
        elif each.rule == "arguments-too-long" and limits.arguments is not None:
            yield Shorten(each.path, limits.arguments, "arguments")


def with_shortened(messages: Sequence[object], edits: Iterable[Shorten]) -> list[object]:
    """Return the messages with the edits applied; those without an edit are the same objects."""
    written = list(messages)
    for edit in edits:
        index = edit.path[0]
        assert isinstance(index, int)
        written[index] = _replaced(written[index], edit.path[1:], edit)
    return written


def _replaced(raw: object, path: Path, edit: Shorten) -> object:
    if not path:
        return _shortened(raw, edit)
    key, rest = path[0], path[1:]
    if is_object(raw) and isinstance(key, str):
        return {**raw, key: _replaced(raw[key], rest, edit)}
    return [_replaced(each, rest, edit) if at == key else each for at, each in enumerate(as_array(raw))]


def _shortened(raw: object, edit: Shorten) -> object:
    if edit.what == "text":
        return shortened_text(str(raw), edit.most)
    return shortened_arguments(raw, edit.most)


def shortened_text(text: str, most: int) -> str:
    """Return the beginning and the end of a text that is longer than `most` characters, within that limit."""
    room = max(most - len(_note(len(text))), 0)
    begin = (room + 1) // 2
    note = _note(len(text) - room)[:most]
    return f"{text[:begin]}{note}{text[len(text) - (room - begin) :]}"


def _note(characters: int) -> str:
    return f"\n[{characters} characters are left out here: so long a text is not accepted.]\n"


def shortened_arguments(raw: object, most: int) -> object:
    """Return an object that quotes the beginning and the end of arguments, as JSON text if they were text."""
    written = raw if isinstance(raw, str) else json_text(raw)
    room = most
    result = quoted_arguments(shortened_text(written, room))
    while (size := len(json_text(result))) > most and room > 0:  # escaped characters take more room
        room = min(room * most // size, room - 1)
        result = quoted_arguments(shortened_text(written, room))
    return json_text(result) if isinstance(raw, str) else result


# --- call limit ---


def split_edits(rows: Iterable[DraftMessage], pairing: Pairing, most: int, frozen: int) -> Iterator[Split]:
    """Return an iterator over the edits after which no response has more than `most` calls."""
    answers: dict[Path, Path] | None = None
    for row in rows:
        calls = [piece.item.path for piece in row.pieces if piece.kind == "call" and piece.item is not None]
        if len(calls) <= most or row.sources[0] < frozen:
            continue
        if answers is None:
            pairs = (call for step in pairing.steps for call in step.calls)
            answers = {call.item.path: call.answer.item.path for call in pairs if call.answer is not None}
        for first in range(most, len(calls), most):
            later = tuple(calls[first : first + most])
            yield Split(later, tuple(answers[call] for call in later if call in answers))


def split_rows(rows: Sequence[DraftMessage], splits: Sequence[Split], grammar: Grammar) -> list[DraftMessage]:
    """Return the rows with the edits applied."""
    part_of = {path: number for number, edit in enumerate(splits, 1) for path in (*edit.calls, *edit.results)}
    done: list[DraftMessage] = []
    parts: _Parts | None = None
    for row in rows:
        if parts is not None and parts.take(row):
            continue
        done += parts.rows() if parts else ()
        numbers = {part_of[piece.item.path] for piece in row.pieces if piece.item and piece.item.path in part_of}
        parts = _Parts(row, sorted(numbers), part_of, grammar) if numbers and row.role == "assistant" else None
        if parts is None:
            done.append(row)
    return [*done, *(parts.rows() if parts else ())]


class _Parts:
    """The parts of one response, with the rows of results after it."""

    def __init__(self, row: DraftMessage, numbers: Sequence[int], part_of: dict[Path, int], grammar: Grammar) -> None:
        self._part_of = part_of
        self._side = grammar.side
        self._calls = {0: row}
        self._results: dict[int, list[DraftMessage]] = {0: []}
        for number in numbers:
            later = [piece for piece in row.pieces if self._number(piece) == number]
            self._calls[number] = DraftMessage("assistant", later, [], touched=True, fill="")
            self._results[number] = []
        row.pieces = [piece for piece in row.pieces if self._number(piece) not in numbers]
        row.touched = True
        self._last = numbers[-1]

    def take(self, row: DraftMessage) -> bool:
        """Take a row that contains results of the response; return whether it does."""
        if row.role != self._side or all(piece.kind != "result" for piece in row.pieces):
            return False
        if self._side == "tool":
            self._results[self._of(row.pieces[0])].append(row)
            return True
        by_part: dict[int, list[DraftPart]] = {}
        for piece in row.pieces:
            number = self._of(piece) if piece.kind == "result" else self._last
            by_part.setdefault(number, []).append(piece)
        row.pieces = by_part.pop(self._last, [])
        row.touched = row.touched or bool(by_part)
        for number, pieces in by_part.items():
            self._results[number].append(DraftMessage(row.role, pieces, [], touched=True))
        self._results[self._last].append(row)
        return True

    def rows(self) -> Iterator[DraftMessage]:
        """Yield each part with its results."""
        for number, calls in self._calls.items():
            yield calls
            yield from self._results[number]

    def _of(self, piece: DraftPart) -> int:
        """Return the part whose call the result answers."""
        number = self._number(piece if piece.call is None else piece.call)
        return number if number in self._calls else 0

    def _number(self, piece: DraftPart) -> int:
        return self._part_of.get(piece.item.path, 0) if piece.item is not None else 0
