"""The transcript: the blocks of a view as scrollable lines, drawn on demand.

The cost of a frame does not depend on the length of the session. Text of a model, tool or file is never interpreted as
markup, and reaches the terminal only as characters.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from holdfast.ui.tui.render import block_renderer
from holdfast.ui.tui.render.lexers import Lexers
from holdfast.ui.tui.render.lines import MARK_WIDTH, DrawnLine, make_line, marked_strip, selected_strip, strip_over
from holdfast.ui.tui.render.styles import COMPONENTS, STYLES, Styles, styles_of
from holdfast.ui.tui.render.virtual_list import LINE_NUMBERS, VirtualList, numbered_place, place_number
from holdfast.ui.view.blocks import BlockKey
from holdfast.ui.view.view import View

if TYPE_CHECKING:
    from holdfast.ui.view.last_blocks import Tail

FRAME = 1 / 30
"""Minimum seconds between two frames."""

_TICK = 0.5
"""Seconds between updates of elapsed times."""

_HINT = " ↓ more below · Ctrl+End "
_SCREENS = 4  # number of screens whose strips are kept


class Transcript(ScrollView, can_focus=True):
    """Draws a view and follows its end, unless the user has scrolled up.

    `clock` is the clock of the times passed to `View.take`.
    """

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)
    DEFAULT_CSS = STYLES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "choose(-1)", "Previous", show=False),
        Binding("down", "choose(1)", "Next", show=False),
        Binding("enter,space", "open", "Open", show=False),
    ]

    def __init__(
        self,
        *,
        id: str | None = None,  # noqa: A002 - Textual's word
        clock: Callable[[], float] = time.monotonic,
        thoughts: bool = False,
    ) -> None:
        super().__init__(id=id)
        self._thoughts = thoughts
        self.view = View()
        """What is shown; feed it by `View.take`, then call `show`."""
        self.on_drawn: Callable[[], None] | None = None
        """Called when a change, or another view, has been drawn."""
        self._shown: View | Tail = self.view
        self._clock = clock
        self._list: VirtualList | None = None  # None until the colours are known
        self._lexers = Lexers()
        self._coloured = 0  # number of lexers when everything was last drawn
        self._chosen: BlockKey | None = None
        self._rows: list[DrawnLine] = []
        self._strips: dict[int, tuple[DrawnLine, Strip]] = {}  # by id: recently drawn lines, ready for the terminal
        self._base = Style()
        self._dirty: set[BlockKey] = set()
        self._due: Timer | None = None
        self._drawn_at = 0.0
        self._placing = False
        self._hurried = False  # then the scroll bar, half of the cost, is updated by the next tick
        self._pressed: Offset | None = None

    # Content.

    def load(self, view: View) -> None:
        """Show another view, at its end."""
        self.view = view
        self._load(view)

    def leave_out(self, begin: int) -> None:
        """Show only the blocks after the first `begin`."""
        from holdfast.ui.view.last_blocks import Tail

        self._load(Tail(self.view, begin))

    def _load(self, view: View | Tail) -> None:
        self._shown = view
        self._chosen = None
        self._dirty.clear()
        if self._list is not None:
            self._list.load(view)
            self._place()
            self._drawn()

    @property
    def lines(self) -> int:
        """Return the number of lines, partly estimated."""
        return 0 if self._list is None else self._list.total

    @property
    def text_styles(self) -> Styles | None:
        """Return the styles, None until they are known."""
        return None if self._list is None else self._list.styles

    def show(self, changed: Iterable[BlockKey]) -> None:
        """Draw changes of the view with the next frame; call it with the result of `View.take`."""
        self._dirty.update(changed)
        if self._dirty and self._due is None and self._list is not None:
            self._due = self.set_timer(max(0.001, self._drawn_at + FRAME - time.monotonic()), self._frame)

    @property
    def following(self) -> bool:
        """Return whether the end is visible, and stays so when more arrives."""
        return self._list is None or self._list.following

    def follow(self) -> None:
        """Scroll to the end and stay there."""
        if self._list is not None:
            self._list.following = True
            self._place()

    def toggle(self, key: BlockKey) -> None:
        """Expand or collapse a block."""
        if self._list is not None:
            self._list.toggle(key)
            self._place()

    @property
    def thoughts(self) -> bool:
        """Return whether the model's thinking is shown as it streams."""
        return self._thoughts

    @thoughts.setter
    def thoughts(self, shown: bool) -> None:
        self._thoughts = shown
        if self._list is not None:
            self._list.thoughts = shown
            self._list.redraw()
            self._place()

    def toggle_all(self) -> None:
        """Expand or collapse all blocks."""
        if self._list is not None:
            self._list.toggle_all()
            self._place()

    # Keys and mouse.

    def action_choose(self, step: int) -> None:
        """Select the next block that can be expanded, with -1 the previous one."""
        if self._list is None or (key := self._list.next_openable(self._chosen, step)) is None:
            return
        self._chosen = key
        first, last = self._list.ends(key)
        if first < self._list.top:
            self._list.scroll_to(first)
        elif last >= self._list.top + self._list.height:
            self._list.scroll_to(min(first, last + 1 - self._list.height))
        self._place()
        self.refresh()

    def action_open(self) -> None:
        """Expand or collapse the selected block."""
        if self._chosen is not None:
            self.toggle(self._chosen)

    def action_page_up(self) -> None:
        """Scroll up by almost a screen."""
        self._scroll_by(2 - self.size.height)

    def action_page_down(self) -> None:
        """Scroll down by almost a screen."""
        self._scroll_by(self.size.height - 2)

    def action_scroll_home(self) -> None:
        """Scroll to the beginning."""
        self._scroll_by(-self.virtual_size.height)

    def action_scroll_end(self) -> None:
        """Scroll to the end and stay there."""
        self.follow()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Note where a press began: a drag selects text."""
        self._pressed = event.screen_offset

    def on_click(self, event: events.Click) -> None:
        """Expand or collapse the clicked block; on the hint, scroll to the end."""
        if self._list is None or event.screen_offset != self._pressed or event.chain > 1:
            return
        if not self.following and event.y == self.size.height - 1:
            self.follow()
            return
        block = self._list.block_at(self._list.top + event.y)
        if block is not None and block_renderer.can_expand(block):
            self.toggle(block.key)

    def text_select_all(self) -> None:
        """Select the clicked block, because a whole session is too much."""
        if self._list is None or self._pressed is None:
            return
        block = self._list.block_at(self._list.top + self._pressed.y - self.region.y)
        if block is not None:
            begin, end = (place_number(self._list.place(y)) for y in self._list.ends(block.key))
            self.screen.selections = {self: Selection(Offset(0, begin), Offset(LINE_NUMBERS, end))}

    # Callbacks of Textual.

    def on_mount(self) -> None:
        """Start to draw."""
        super().on_mount()
        self._update_styles()
        self.set_interval(_TICK, self._tick)

    def on_resize(self) -> None:
        """Draw at the new size."""
        self._strips.clear()
        self._place()

    def notify_style_update(self) -> None:
        """Draw in the colours of the current theme."""
        super().notify_style_update()
        if self._list is not None:
            self.call_later(self._update_styles)  # the component styles are updated after this call

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the user's scrolling."""
        if self.show_vertical_scrollbar and not self._hurried:
            self.vertical_scrollbar.position = new_value
        if self._placing or self._list is None or round(old_value) == round(new_value):
            return
        if self.size.height == self._list.height:  # else a resize caused it, and its event follows
            self._list.scroll_to(round(new_value))
            self._place()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the lines of the rows in `crop`; a line drawn before, in any row, is the same strip."""
        strips = [self._row(y) for y in crop.line_range]
        if crop.column_span == (0, self.size.width):
            return strips
        return [strip.crop_extend(*crop.column_span, self._base) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """Return the line in row `y` with its positions, for the mouse.

        Normal drawing leaves the positions out: adding them to every segment costs time and Textual's cache.
        """
        return self._row(y).apply_offsets(0, self._number(y))

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        del selection
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Return the selected text as source; an open end means the end of the viewport."""
        if self._list is None:
            return None
        top = self._list.top
        start = selection.start or Offset(0, place_number(self._list.place(top)))
        end = selection.end or Offset(LINE_NUMBERS, place_number(self._list.place(top + self.size.height - 1)))
        return self._list.text(
            numbered_place(start.y), start.x - MARK_WIDTH, numbered_place(end.y), end.x - MARK_WIDTH
        ), "\n"

    # Implementation.

    @property
    def _columns(self) -> int:
        """Return the available width, without the scroll bar."""
        return self.scrollable_content_region.width

    def _frame(self) -> None:
        """Draw changes."""
        self._due = None
        if self._list is not None:
            changed, self._dirty = self._dirty, set()
            self._list.update(changed)
            self._hurried = True
            self._place()
            self._hurried = False
            self._drawn_at = time.monotonic()
            self._drawn()

    def _drawn(self) -> None:
        if self.on_drawn is not None:
            self.on_drawn()

    def _tick(self) -> None:
        if self._list is not None:
            if self._coloured != self._lexers.loaded:
                self._coloured = self._lexers.loaded
                self._list.redraw()
                self._place()
            self.show(self._list.moving)
            bar = self.vertical_scrollbar
            if (bar.window_virtual_size, bar.position) != (self.virtual_size.height, self.scroll_y):
                self._scroll_update(self.virtual_size)
                bar.position = self.scroll_y

    def _update_styles(self) -> None:
        self._base = self.rich_style
        colours = styles_of(self.get_component_rich_style, self._lexers)
        if self._list is None:
            self._list = VirtualList(colours, clock=self._clock)
            self._list.thoughts = self._thoughts
            self._list.load(self._shown)
        elif colours == self._list.styles:
            return
        self._list.fit(colours, self._columns, self.size.height)
        self._strips.clear()
        self._place()
        self.refresh()

    def _scroll_by(self, lines: int) -> None:
        if self._list is not None:
            self._list.scroll_to(max(0, self._list.top + lines))
            self._place()

    def _place(self) -> None:
        """Scroll the lines into place, and draw the rows that changed."""
        width, height = self.size
        if self._list is None or not height:
            return
        self._list.fit(self._list.styles, self._columns, height)
        self._list.settle()
        top = self._list.top
        self._placing = True
        size = Size(width, self._list.total)
        if size != self.virtual_size:  # bypasses the watcher, which would lay out the whole screen again
            self.set_reactive(Widget.virtual_size, size)  # pyright: ignore[reportArgumentType] - its own type, loosely
            if not self._hurried or not self.show_vertical_scrollbar:
                self._scroll_update(size)
        self.scroll_to(y=top, animate=False, force=True)
        self._placing = False
        rows = [self._list.line(top + y) for y in range(height)]
        if top + height < self._list.total:
            rows[-1] = self._hint(self._list.styles)
        old = self._rows
        self._rows = rows
        changed = [y for y in range(height) if y >= len(old) or rows[y] is not old[y]]
        self.refresh(*(Region(0, y, width, 1) for y in changed))

    def _hint(self, styles: Styles) -> DrawnLine:
        """Return the row with the hint that there is more below."""
        room = max(0, self._columns - MARK_WIDTH - cell_len(_HINT))
        return make_line([(" " * room, styles.text), (_HINT, styles.hint)])

    def _number(self, y: int) -> int:
        """Return the place of row `y` as one number."""
        return place_number(self._list.place(self._list.top + y)) if self._list is not None else 0

    def _row(self, y: int) -> Strip:
        """Return row `y` as a strip for the terminal."""
        if self._list is None or y >= len(self._rows):
            return Strip.blank(self.size.width, self._base)
        line = self._rows[y]
        selected = self.text_selection
        if selected is not None and (span := selected.get_span(self._number(y))) is not None:
            style = self.screen.get_component_rich_style("screen--selection")
            return self.finished(selected_strip(self._composed(line), *span, style))
        if self.has_focus and self._chosen is not None and self._list.top + y == self._list.ends(self._chosen)[0]:
            return self.finished(strip_over(self._composed(line), Style(bgcolor=self._list.styles.chosen.bgcolor)))
        drawn = self._strips.get(id(line))
        if drawn is None:
            if len(self._strips) > _SCREENS * self.size.height:
                self._strips.clear()
            drawn = self._strips[id(line)] = line, self.finished(self._composed(line))
        return drawn[1]

    def finished(self, strip: Strip) -> Strip:
        """Return the strip, ready for the terminal."""
        _, background = self.background_colors
        for each in self.get_line_filters():
            strip = strip.apply_filter(each, background)
        return strip

    def _composed(self, line: DrawnLine) -> Strip:
        """Return a line with its mark, as wide as the widget."""
        return marked_strip(line, self._base).adjust_cell_length(self.size.width, self._base)
