"""Edits for the end of responses, planned after everything else has its place: no response ends in thinking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, takewhile

from holdfast.history.draft_messages import DraftMessage, DraftPart
from holdfast.history.edits import Drop

_CUT = "thinking at the end of an answer is refused, and what it led to is missing"


def ending_edits(rows: Iterable[DraftMessage], *, frozen: int, joins: bool) -> Iterator[Drop]:
    """Yield the edits that remove thinking at the end of responses; a response of thinking alone is not their subject.

    `joins` tells whether the provider joins messages of one role by itself.
    """
    for role, group in groupby(rows, key=lambda row: row.role):
        if role != "assistant":
            continue
        each = list(group)
        for response in [each] if joins else [[row] for row in each]:
            yield from _of_response([piece for row in response for piece in row.pieces], frozen)


def _of_response(pieces: list[DraftPart], frozen: int) -> Iterator[Drop]:
    trailing = list(takewhile(lambda piece: piece.kind == "thinking", reversed(pieces)))
    if len(trailing) == len(pieces):
        return
    for piece in reversed(trailing):
        if piece.item is not None and piece.item.message >= frozen:
            yield Drop(piece.item.path, _CUT)
