"""Parses the frames that Textual writes: which text is at which place of the screen. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

_PLACE = re.compile(r"\x1b\[(\d+);(\d+)H")
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class PlacedText(NamedTuple):
    """A text with its styles, and the row and column, from 1, where it begins."""

    row: int
    column: int
    text: str


def pieces_of(data: str) -> tuple[PlacedText, ...]:
    """Return the pieces of a frame, none if `data` does not place the cursor."""
    before, *rest = _PLACE.split(data)
    if before or not rest:
        return ()
    return tuple(
        PlacedText(int(row), int(column), text.removesuffix("\n"))
        for row, column, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True)
    )


def is_full_frame(pieces: Sequence[PlacedText], *, columns: int, rows: int) -> bool:
    """Return whether the pieces are all rows of a screen of this size, each from its first column to its last."""
    return begins_rows(pieces, rows) and all(_cells(piece.text) >= columns for piece in pieces[:rows])


def begins_rows(pieces: Sequence[PlacedText], rows: int) -> bool:
    """Return whether the first pieces begin each of `rows` rows, in order, at the first column."""
    return len(pieces) >= rows and all(piece[:2] == (row, 1) for row, piece in enumerate(pieces[:rows], 1))


def _cells(text: str) -> int:
    """Return how wide a text is, as Textual counts: each run by itself, even where an emoji is divided by a style."""
    return sum(cell_len(run) for run in _SEQUENCE.split(text))
