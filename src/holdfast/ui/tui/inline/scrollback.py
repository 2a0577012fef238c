"""What the inline screen prints: each block once, when it will not change again; the others stay in the live region.

The blocks are printed in their order, so one that still changes holds back those after it. The cost of a frame does not
depend on how much was printed.
"""

from __future__ import annotations

import time

from rich.console import COLOR_SYSTEMS
from rich.segment import Segment
from textual.app import App
from textual.strip import Strip
from textual.widget import Widget

from holdfast.ui.tui.inline.printed_blocks import PrintedBlocks
from holdfast.ui.tui.terminal.inline_screen import InlineScreen
from holdfast.ui.tui.widgets.transcript import Transcript
from holdfast.ui.view.blocks import Block, UserBlock
from holdfast.ui.view.columns import count_noun
from holdfast.ui.view.view import View

TURNS = 2
"""Turns of a resumed session that are printed."""

FEW_LINES = 3
"""Lines of the transcript in the live region of a slow terminal."""

FOLDS = 2
"""Rows of the terminal for each of the live region, while an answer comes.

In a window half as wide all of it is still on the screen, where it can be erased. What a terminal has folded into its
history is out of reach.
"""

MOST_BLOCKS = 60
"""Blocks of them at most."""


def inline_screen(app: App[int]) -> InlineScreen:
    """Return the driver of `app`, which must be an `InlineScreen`."""
    driver = app._driver  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - Textual has no other way to it
    assert isinstance(driver, InlineScreen)
    return driver


class Scrollback:
    """Keeps the terminal's history, and the height of the live region, in step with the transcript."""

    def __init__(self, app: App[int], screen: InlineScreen, transcript: Transcript, *, last: Widget) -> None:
        """Create it; `last` is the lowest widget of the screen."""
        self._app = app
        self._screen = screen
        self._transcript = transcript
        self._last = last
        self._view: View | None = None
        self._printed = 0
        """How many blocks of the view were printed, or were there before."""
        self._blocks = PrintedBlocks()
        self._theme = ""
        self._scheduled = False
        self._other_rows = 0

    @property
    def most_rows(self) -> int:
        """Return how many rows the live region can have."""
        return self._screen.terminal_rows

    def begin(self) -> None:
        """Follow the transcript; the screen has been mounted."""
        self._transcript.on_drawn = self.update
        signal = self._app.screen.screen_layout_refresh_signal  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - a screen of any result
        signal.subscribe(self._last, self._laid_out)  # pyright: ignore[reportUnknownMemberType] - likewise
        self.update()

    def update(self) -> None:
        """Print the finished blocks and fit the live region, as soon as the widgets have their places."""
        if not self._scheduled:
            self._scheduled = True
            self._app.call_after_refresh(self._update)

    def _laid_out(self, _: object) -> None:
        """Note how many rows everything but the transcript takes; only right after a layout do the places agree."""
        self._other_rows = self._last.virtual_region.bottom - self._transcript.region.height
        self.update()

    def _update(self) -> None:
        self._scheduled = False
        view = self._transcript.view
        if not self._screen.has_page:  # else the blocks are printed when the page closes
            if view is not self._view:
                self._enter(view)
            self._print(view, view.settled(self._printed))
        self._clear_background()
        self._fit()

    def finish(self) -> None:
        """Print everything that has not been printed, finished or not: the screen closes."""
        view = self._transcript.view
        if view is self._view:
            self._print(view, len(view.keys))

    def _enter(self, view: View) -> None:
        """Begin another session: print its last turns, and how much there was before."""
        self._view, self._printed = view, 0
        self._blocks.restart()
        count = view.settled()
        begins = [at for at in range(count) if isinstance(view.block(view.keys[at]), UserBlock)] if count else []
        first = max(begins[-TURNS] if len(begins) > TURNS else 0, count - MOST_BLOCKS)
        if first:
            self._screen.print_lines(["", f"   … {count_noun(first, 'earlier block')} · Ctrl+O shows all"])
        self._printed = first

    def _print(self, view: View, count: int) -> None:
        styles = self._transcript.text_styles
        if count <= self._printed or styles is None:
            return
        blocks = [view.block(key) for key in view.keys[self._printed : count]]
        self._screen.print_lines([line for block in blocks if block is not None for line in self._lines(block)])
        self._printed = count
        self._transcript.leave_out(count)

    def _lines(self, block: Block) -> list[str]:
        styles, width = self._transcript.text_styles, self._app.size.width
        assert styles is not None
        drawn = self._blocks.lines(block, styles, width, now=time.monotonic())
        return [self._rendered(self._transcript.finished(strip)) for strip in drawn]

    def _rendered(self, strip: Strip) -> str:
        return strip.render(self._app.console)

    def _clear_background(self) -> None:
        """Use the terminal's own background instead of the theme's, as the finished text does."""
        if self._theme != self._app.theme and self._transcript.text_styles is not None:
            self._theme = self._app.theme
            drawn = self._transcript.finished(Strip([Segment(" ", self._transcript.text_styles.text)]))
            style = next(iter(drawn)).style
            system = self._app.console.color_system
            if style is not None and style.bgcolor is not None and system is not None:
                codes = style.bgcolor.downgrade(COLOR_SYSTEMS[system]).get_ansi_codes(foreground=False)
                self._screen.clear_background(";".join(codes))

    def _fit(self) -> None:
        """Make the live region as high as its content."""
        lines = min(self._transcript.lines, max(FEW_LINES, self.most_rows // FOLDS - self._other_rows))
        if self._screen.pacing.is_slow:
            lines = min(lines, FEW_LINES)
        self._transcript.display = lines > 0
        if self._other_rows > 0:
            self._screen.request_rows(self._other_rows + lines)
