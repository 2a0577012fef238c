"""A Markdown table: its columns as wide as needed, within the available width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len

from holdfast.ui.tui.render.lines import DrawnLine, StyledRun, fold_runs, make_line
from holdfast.ui.tui.render.styles import Styles

Cell = list[StyledRun]

_BETWEEN = 3
_NARROWEST = 4


def draw_table(
    rows: Sequence[Sequence[Cell]], aligns: Sequence[str], styles: Styles, width: int, *, headless: bool = False
) -> list[DrawnLine]:
    """Return the lines of a table whose first row is its head; `headless` leaves the head out."""
    widths = _widths(rows, width)
    drawn: list[DrawnLine] = []
    for number, row in enumerate(rows):
        if number or not headless:
            drawn += _row(row, widths, aligns, styles)
        if not number and not headless:
            drawn.append(make_line([("─" * (sum(widths) + _BETWEEN * (len(widths) - 1)), styles.faint)]))
    return drawn


def _row(row: Sequence[Cell], widths: Sequence[int], aligns: Sequence[str], styles: Styles) -> list[DrawnLine]:
    columns = [list(fold_runs(cell, room)) for cell, room in zip(row, widths, strict=False)]
    lines: list[DrawnLine] = []
    for cells in zip_longest(*columns):
        runs: list[StyledRun] = []
        for at, (cell, room) in enumerate(zip(cells, widths, strict=False)):
            text_runs: list[StyledRun] = (
                [(s.text, s.style or styles.text) for s in cell.strip] if cell is not None else []
            )
            spare = room - sum(cell_len(text) for text, _ in text_runs)
            before = spare if aligns[at] == "right" else spare // 2 if aligns[at] == "center" else 0
            last = at == len(widths) - 1
            after = spare - before + (0 if last else _BETWEEN)
            runs += [(" " * before, styles.text), *text_runs, (" " * (0 if last else after), styles.text)]
        lines.append(make_line(runs))
    return lines


def _widths(rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the widths of the columns: as needed, with the widest reduced until all fit."""
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
