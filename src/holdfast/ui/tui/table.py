"""A table of Markdown: its columns as wide as they need to be and can be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len

from holdfast.ui.tui.lines import Line, Run, fold, line
from holdfast.ui.tui.look import Look

Cell = list[Run]

_BETWEEN = 3
_NARROWEST = 4


def draw_table(
    rows: Sequence[Sequence[Cell]], aligns: Sequence[str], look: Look, width: int, *, headless: bool = False
) -> list[Line]:
    """Return the lines of a table whose first row is its head; `headless` leaves it out."""
    widths = _widths(rows, width)
    drawn: list[Line] = []
    for number, row in enumerate(rows):
        if number or not headless:
            drawn += _row(row, widths, aligns, look)
        if not number and not headless:
            drawn.append(line([("─" * (sum(widths) + _BETWEEN * (len(widths) - 1)), look.faint)]))
    return drawn


def _row(row: Sequence[Cell], widths: Sequence[int], aligns: Sequence[str], look: Look) -> list[Line]:
    columns = [list(fold(cell, room)) for cell, room in zip(row, widths, strict=False)]
    lines: list[Line] = []
    for cells in zip_longest(*columns):
        runs: list[Run] = []
        for at, (cell, room) in enumerate(zip(cells, widths, strict=False)):
            said: list[Run] = [(s.text, s.style or look.text) for s in cell.strip] if cell is not None else []
            spare = room - sum(cell_len(text) for text, _ in said)
            before = spare if aligns[at] == "right" else spare // 2 if aligns[at] == "center" else 0
            last = at == len(widths) - 1
            after = spare - before + (0 if last else _BETWEEN)
            runs += [(" " * before, look.text), *said, (" " * (0 if last else after), look.text)]
        lines.append(line(runs))
    return lines


def _widths(rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the columns' widths: what they need, the widest made narrower until they fit."""
    needed = [
        max(1, *(sum(cell_len(text) for text, _ in cell) for cell in column)) for column in zip(*rows, strict=False)
    ]
    room = width - _BETWEEN * (len(needed) - 1)
    while sum(needed) > room and max(needed) > _NARROWEST:
        widest = max(needed)
        others = [need for need in needed if need < widest]
        count = len(needed) - len(others)
        to = max(_NARROWEST, max(others, default=0), (room - sum(others)) // count)
        needed = [min(need, to if to < widest else widest - 1) for need in needed]
    return needed
