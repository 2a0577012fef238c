"""A diff as fragments: changed lines, and folds of unchanged ones that a `DetailView` opens."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.ui.tui.render.call_renderer import Diff
from holdfast.ui.tui.render.diff import Change, draw_changes
from holdfast.ui.tui.render.lines import DrawnLine, Fragment
from holdfast.ui.tui.render.plain_text import PIECE
from holdfast.ui.tui.render.styles import Styles

_OPEN = "shown"


class DiffFold(msgspec.Struct, frozen=True):
    """The line that stands for the hidden lines of `change`; if it is open, they are below it."""

    change: Change
    digits: int
    language: str
    is_open: bool = False

    def guess(self, width: int) -> int:
        """Return 1: it is always one line."""
        del width
        return 1

    def draw(self, look: Styles, width: int) -> list[DrawnLine]:
        """Return its line: how many lines there are, and the key that shows or hides them."""
        said = msgspec.structs.replace(self.change, text=f"{self.change.text} {_OPEN}") if self.is_open else self.change
        return list(draw_changes((said,), look, width, digits=self.digits, whole=True))

    def opened(self) -> list[Fragment]:
        """Return it open, with what it hides."""
        return [
            msgspec.structs.replace(self, is_open=True),
            *_pieces(self.change.hidden, self.digits, self.language),
        ]


def diff_fragments(lines: Sequence[Change], language: str) -> list[Fragment]:
    """Return what draws the lines of a file; all have room for its largest number, folded lines too."""
    digits = max((_digits(line) for line in lines), default=0)
    found: list[Fragment] = []
    begin = 0
    for at, line in enumerate(lines):
        if line.hidden:
            found += (*_pieces(lines[begin:at], digits, language), DiffFold(line, digits, language))
            begin = at + 1
    return [*found, *_pieces(lines[begin:], digits, language)]


def _pieces(lines: Sequence[Change], digits: int, language: str) -> list[Fragment]:
    return [
        Diff(tuple(lines[at : at + PIECE]), whole=True, digits=digits, language=language)
        for at in range(0, len(lines), PIECE)
    ]


def _digits(line: Change) -> int:
    numbers = [each.number for each in (line, *line.hidden[-1:]) if each.number is not None]
    return max((len(str(number)) for number in numbers), default=0)
