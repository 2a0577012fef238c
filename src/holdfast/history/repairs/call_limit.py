"""Splits responses with more calls than a provider accepts: the later calls follow after the results of the first.

Everything except the later calls stays with the first part: text, and thinking, which a signature may cover. Results
stand between two parts, so that no rule joins them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.edits import Split
from holdfast.history.pairing import Pairing
from holdfast.history.shape import Grammar, Path


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
