"""Blocks as lines for the terminal's own history: the lines of the transcript, without trailing blanks."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from holdfast.ui.tui.render.block_renderer import render_block
from holdfast.ui.tui.render.lines import MARK_WIDTH, marked_strip
from holdfast.ui.tui.render.markdown import Markdown
from holdfast.ui.tui.render.styles import Styles
from holdfast.ui.view.blocks import Block, CallBlock

MARGIN = 1
"""Cells left of every line, as in the transcript."""

_WIDEST, _NARROWEST = 200, 20


class PrintedBlocks:
    """Draws blocks one after another, with the gaps that the transcript has between them."""

    def __init__(self) -> None:
        self._before: Block | None = None  # the last block that had lines
        self._height = 0

    def restart(self) -> None:
        """Begin another session."""
        self._before, self._height = None, 0

    def lines(self, block: Block, styles: Styles, width: int, *, now: float) -> Iterator[Strip]:
        """Yield the lines of the next block, with an empty one above if there is a gap; none is wider than `width`."""
        room = max(_NARROWEST, min(width - MARGIN - MARK_WIDTH - 1, _WIDEST))
        drawn = [
            line
            for piece in render_block(block, Markdown(), opened=False, now=now)
            for line in piece.draw(styles, room)
        ]
        if not drawn:
            return
        calls = isinstance(block, CallBlock) and isinstance(self._before, CallBlock) and self._height <= 1
        if not calls:  # calls of one line each have no gap between them
            yield Strip([])
        self._before, self._height = block, len(drawn)
        blank = Strip.blank(MARGIN, Style())
        for line in drawn:
            yield _trimmed(Strip.join([blank, marked_strip(line, Style())]))


def _trimmed(strip: Strip) -> Strip:
    """Return the strip without the blanks at its end, whatever their colour: else they would be copied as text."""
    return strip.crop(0, cell_len(strip.text.rstrip()))
