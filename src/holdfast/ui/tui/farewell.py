"""What stays in the terminal after the screen closes: the last answer, the session, and how to resume it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from rich.cells import cell_len

from holdfast.text import printable
from holdfast.ui.view.blocks import AnswerBlock
from holdfast.ui.view.columns import count_noun, single_line
from holdfast.ui.view.view import View

MOST_ROWS = 24
"""Rows of the answer at most, however high the terminal is."""

_OTHERS = 7
"""Rows that the answer leaves for the other lines and the shell's prompt."""


class Farewell(msgspec.Struct, frozen=True, kw_only=True):
    """The session that the screen showed last; `cost` is in dollars, None if unknown."""

    session: str
    title: str
    cost: float | None
    answer: str = ""


def last_answer(view: View) -> str:
    """Return the text of the last answer, "" if there is none."""
    blocks = (view.block(key) for key in reversed(view.keys))
    return next((block.text for block in blocks if isinstance(block, AnswerBlock)), "")


def farewell_lines(farewell: Farewell, *, columns: int, rows: int) -> Iterator[str]:
    """Yield the lines to print; they fit into a terminal of that size."""
    lines = printable(farewell.answer).strip("\n").expandtabs(4).splitlines()
    room = max(1, min(MOST_ROWS, rows - _OTHERS))
    if lines:
        shown = 0
        for line in lines:
            needs = max(1, -(-cell_len(line) // max(1, columns)))
            if needs > room:
                break
            room -= needs
            shown += 1
        yield from lines[:shown]
        if shown < len(lines):
            yield f"… {count_noun(len(lines) - shown, 'more line')}"
        yield ""
    cost = "" if farewell.cost is None or not farewell.cost else f"${farewell.cost:.2f}"
    if summary := " · ".join(filter(None, (single_line(farewell.title), cost))):
        yield summary
    yield f"holdfast -r {farewell.session}"
