"""The transcript: the blocks of a view as lines one scrolls through, drawn when they are looked at.

Two rules. What a frame costs does not depend on how long the session is. Nothing of a model's, a tool's or a file's
text is read as markup or reaches the terminal as anything but characters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from holdfast.ui.blocks import Key
from holdfast.ui.tui import cards
from holdfast.ui.tui.lexers import Lexers
from holdfast.ui.tui.lines import MARK, Line, line
from holdfast.ui.tui.look import COMPONENTS, STYLES, Look, look
from holdfast.ui.tui.roll import Place, Roll
from holdfast.ui.view import View

FRAME = 1 / 30
"""Seconds between two frames at least."""

TICK = 0.5
"""Seconds between two looks at how long something has taken."""

_HINT = " ↓ more below · End "
_SCREENS = 4  # of strips that are kept
_LINE, _PIECE = 1 << 20, 1 << 20  # a place as one number, for Textual's selection


class Transcript(ScrollView, can_focus=True):
    """Draw a view and follow its end, unless the person has scrolled up.

    `clock` is the one whose times `View.take` was given.
    """

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)
    DEFAULT_CSS = STYLES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Previous", show=False),
        Binding("down", "choose(1)", "Next", show=False),
        Binding("enter,space", "open", "Open", show=False),
    ]

    def __init__(self, *, id: str | None = None, clock: Callable[[], float] = time.monotonic) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._view = View()
        self._clock = clock
        self._roll: Roll | None = None  # none until there are colours
        self._lexers = Lexers()
        self._coloured = 0  # how many languages there were when everything was drawn
        self._chosen: Key | None = None
        self._rows: list[Line] = []
        self._strips: dict[int, tuple[Line, Strip]] = {}  # by id: lines drawn lately, as they go to the terminal
        self._base = Style()
        self._dirty: set[Key] = set()
        self._due: Timer | None = None
        self._drawn_at = 0.0
        self._placing = False
        self._hurried = False  # the scroll bar, as dear to draw as all the rest, then waits for the next tick
        self._pressed: Offset | None = None

    # What there is to show.

    def load(self, view: View) -> None:
        """Show another view, at its end."""
        self._view = view
        self._chosen = None
        self._dirty.clear()
        if self._roll is not None:
            self._roll.load(view)
            self._place()

    def show(self, changed: Iterable[Key]) -> None:
        """Draw what changed in the view, with the next frame; call it with whatever `View.take` returned."""
        self._dirty.update(changed)
        if self._dirty and self._due is None and self._roll is not None:
            self._due = self.set_timer(max(0.001, self._drawn_at + FRAME - time.monotonic()), self._frame)

    @property
    def following(self) -> bool:
        """Return whether the end is in sight, and stays so when there is more."""
        return self._roll is None or self._roll.following

    def follow(self) -> None:
        """Go to the end and stay there."""
        if self._roll is not None:
            self._roll.following = True
            self._place()

    def toggle(self, key: Key) -> None:
        """Show all of a block, or its first lines again."""
        if self._roll is not None:
            self._roll.toggle(key)
            self._place()

    def toggle_all(self) -> None:
        """Show all of every block, or only the first lines again."""
        if self._roll is not None:
            self._roll.toggle_all()
            self._place()

    # What is done with keys and the mouse.

    def action_choose(self, step: int) -> None:
        """Choose the next block that can be opened, or with -1 the one before."""
        if self._roll is None or (key := self._roll.next_openable(self._chosen, step)) is None:
            return
        self._chosen = key
        first, last = self._roll.ends(key)
        if first < self._roll.top:
            self._roll.look_at(first)
        elif last >= self._roll.top + self._roll.height:
            self._roll.look_at(min(first, last + 1 - self._roll.height))
        self._place()
        self.refresh()

    def action_open(self) -> None:
        """Open the chosen block, or close it."""
        if self._chosen is not None:
            self.toggle(self._chosen)

    def action_page_up(self) -> None:
        """Go up by almost what is in sight."""
        self._scroll_by(2 - self.size.height)

    def action_page_down(self) -> None:
        """Go down by almost what is in sight."""
        self._scroll_by(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """Go to the beginning."""
        self._scroll_by(-self.virtual_size.height)

    def action_scroll_end(self) -> None:
        """Go to the end and stay there."""
        self.follow()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Note where a press began: a drag selects."""
        self._pressed = event.screen_offset

    def on_click(self, event: events.Click) -> None:
        """Open or close the block that was clicked; on the hint, go to the end."""
        if self._roll is None or event.screen_offset != self._pressed or event.chain > 1:
            return
        if not self.following and event.y == self.size.height - 1:
            self.follow()
            return
        block = self._roll.block_at(self._roll.top + event.y)
        if block is not None and cards.opens(block):
            self.toggle(block.key)

    def text_select_all(self) -> None:
        """Select the block that was clicked: all of a session is more than anybody wants."""
        if self._roll is None or self._pressed is None:
            return
        block = self._roll.block_at(self._roll.top + self._pressed.y - self.region.y)
        if block is not None:
            begin, end = (_number(self._roll.place(y)) for y in self._roll.ends(block.key))
            self.screen.selections = {self: Selection(Offset(0, begin), Offset(_LINE, end))}

    # What Textual asks.

    def on_mount(self) -> None:
        """Begin to draw."""
        super().on_mount()
        self._look_again()
        self.set_interval(TICK, self._tick)

    def on_resize(self) -> None:
        """Draw for the new size."""
        self._strips.clear()
        self._place()

    def notify_style_update(self) -> None:
        """Draw in the colours of the theme of now."""
        super().notify_style_update()
        if self._roll is not None:
            self.call_later(self._look_again)  # the styles of its parts are told after its own

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Look where the person scrolled to."""
        if self.show_vertical_scrollbar and not self._hurried:
            self.vertical_scrollbar.position = new_value
        if self._placing or self._roll is None or round(old_value) == round(new_value):
            return
        if self.size.height == self._roll.height:  # else it was not the person: a new size is about to be told
            self._roll.look_at(round(new_value))
            self._place()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of the rows in `crop`; one that was drawn before, in whatever row, is the same strip."""
        strips = [self._row(y) for y in crop.line_range]
        if crop.column_span == (0, self.size.width):
            return strips
        return [strip.crop_extend(*crop.column_span, self._base) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """Return the line in row `y`, knowing its place, for what is under the mouse.

        What is drawn knows none: to write it into every segment is dear, in time and in what Textual keeps of it.
        """
        return self._row(y).apply_offsets(0, self._number(y))

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw what is selected."""
        del selection
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text as one would write it; where no end is given, what is in sight is selected."""
        if self._roll is None:
            return None
        top = self._roll.top
        start = selection.start or Offset(0, _number(self._roll.place(top)))
        end = selection.end or Offset(_LINE, _number(self._roll.place(top + self.size.height - 1)))
        return self._roll.text(_place(start.y), start.x - MARK, _place(end.y), end.x - MARK), "\n"

    # How it is done.

    @property
    def _columns(self) -> int:
        """Return how wide the lines may be: the scroll bar stands beside them."""
        return self.scrollable_content_region.width

    def _frame(self) -> None:
        """Draw what changed."""
        self._due = None
        if self._roll is not None:
            changed, self._dirty = self._dirty, set()
            self._roll.update(changed)
            self._hurried = True
            self._place()
            self._hurried = False
            self._drawn_at = time.monotonic()

    def _tick(self) -> None:
        if self._roll is not None:
            if self._coloured != self._lexers.loaded:
                self._coloured = self._lexers.loaded
                self._roll.redraw()
                self._place()
            self.show(self._roll.moving)
            bar = self.vertical_scrollbar
            if (bar.window_virtual_size, bar.position) != (self.virtual_size.height, self.scroll_y):
                self._scroll_update(self.virtual_size)
                bar.position = self.scroll_y

    def _look_again(self) -> None:
        self._base = self.rich_style
        colours = look(self.get_component_rich_style, self._lexers)
        if self._roll is None:
            self._roll = Roll(colours, clock=self._clock)
            self._roll.load(self._view)
        elif colours == self._roll.look:
            return
        self._roll.fit(colours, self._columns, self.size.height)
        self._strips.clear()
        self._place()
        self.refresh()

    def _scroll_by(self, lines: int) -> None:
        if self._roll is not None:
            self._roll.look_at(max(0, self._roll.top + lines))
            self._place()

    def _place(self) -> None:
        """Put the lines where they are to be seen, and draw the rows that are others than before."""
        width, height = self.size
        if self._roll is None or not height:
            return
        self._roll.fit(self._roll.look, self._columns, height)
        self._roll.settle()
        top = self._roll.top
        self._placing = True
        size = Size(width, self._roll.total)
        if size != self.virtual_size:  # set past its watcher, which would lay out the whole screen again
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType] - its own type, loosely
            if not self._hurried or not self.show_vertical_scrollbar:
                self._scroll_update(size)
        self.scroll_to(y=top, animate=False, force=True)
        self._placing = False
        rows = [self._roll.line(top + y) for y in range(height)]
        if top + height < self._roll.total:
            rows[-1] = self._hint(self._roll.look)
        old = self._rows
        self._rows = rows
        changed = [y for y in range(height) if y >= len(old) or rows[y] is not old[y]]
        self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _hint(self, look: Look) -> Line:
        """Return the row that says that there is more out of sight."""
        room = max(0, self._columns - MARK - cell_len(_HINT))
        return line([(" " * room, look.text), (_HINT, look.hint)])

    def _number(self, y: int) -> int:
        """Return the place of row `y` as one number."""
        return _number(self._roll.place(self._roll.top + y)) if self._roll is not None else 0

    def _row(self, y: int) -> Strip:
        """Return row `y` as it goes to the terminal."""
        if self._roll is None or y >= len(self._rows):
            return Strip.blank(self.size.width, self._base)
        one = self._rows[y]
        selected = self.text_selection
        if selected is not None and (span := selected.get_span(self._number(y))) is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            return self._finished(_selected(self._composed(one), *span, style))
        if self.has_focus and self._chosen is not None and self._roll.top + y == self._roll.ends(self._chosen)[0]:
            return self._finished(_over(self._composed(one), Style(bgcolor=self._roll.look.chosen.bgcolor)))
        drawn = self._strips.get(id(one))
        if drawn is None:
            if len(self._strips) > _SCREENS * self.size.height:
                self._strips.clear()
            drawn = self._strips[id(one)] = one, self._finished(self._composed(one))
        return drawn[1]

    def _finished(self, strip: Strip) -> Strip:
        """Return the strip as it goes to the terminal."""
        _, background = self.background_colors
        for each in self.get_line_filters():
            strip = strip.apply_filter(each, background)
        return strip

    def _composed(self, one: Line) -> Strip:
        """Return a line with its mark, as wide as the widget."""
        text, style = one.mark or ("", self._base)
        mark = Segment(text + " " * max(0, MARK - cell_len(text)), style)
        strip = Strip([mark, *one.strip], MARK + one.strip.cell_length)
        return strip.adjust_cell_length(self.size.width, self._base)


def _number(place: Place) -> int:
    """Return a place as one number, in the same order; it stays when lines are drawn or come above it."""
    return (place.block * _PIECE + place.piece + 1) * _LINE + place.line


def _place(number: int) -> Place:
    rest, at = divmod(number, _LINE)
    block, piece = divmod(rest, _PIECE)
    return Place(block, piece - 1, at)


def _selected(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """Return the strip with the characters from `start` to `end` (-1: all the rest) in the style of a selection."""
    text = strip.text
    begin = cell_len(text[:start])
    stop = strip.cell_length if end < 0 else cell_len(text[:end])
    before, chosen, after = strip.divide([begin, max(begin, stop), strip.cell_length])
    return Strip.join([before, _over(chosen, style), after])


def _over(strip: Strip, style: Style) -> Strip:
    """Return the strip with what `style` says in the place of what its own styles say."""
    return Strip(Segment.apply_style(strip, post_style=style), strip.cell_length)
