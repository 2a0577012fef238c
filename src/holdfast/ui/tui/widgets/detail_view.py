"""A scrollable view of fragments, however many: only the lines near the visible ones are drawn.

Heights that are not drawn yet are estimated (`LineLayout`). Corrections leave the first visible line where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from holdfast.ui.tui.render.call_renderer import CHANGED, Diff, DiffFold
from holdfast.ui.tui.render.lexers import Lexers
from holdfast.ui.tui.render.line_layout import LineLayout
from holdfast.ui.tui.render.lines import DrawnLine, Fragment
from holdfast.ui.tui.render.styles import COMPONENTS, STYLES, styles_of

_TICK = 0.2
"""Seconds between checks whether the colours of a language have been loaded."""

_NARROWEST = 8

_AT_ONCE = 1_000
"""Lines that are all drawn at once, so that their number is exact."""

_END = 1 << 40
_PASSES = 10  # each corrects estimates near the visible lines, so a few are enough


class DetailView(ScrollView, can_focus=True):
    """Shows fragments, folded to its width. With the focus, the arrow and page keys scroll it.

    Folds of a diff are closed first. A click on the line of one opens or closes it.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = set(COMPONENTS)
    DEFAULT_CSS = STYLES.replace("Transcript {", "DetailView {", 1)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("home", "scroll_home", "Top", show=False),
        Binding("end", "scroll_end", "Bottom", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self._source: Sequence[Fragment] = ()
        self._open: set[int] = set()  # the indexes of the open folds in `_source`
        self._fragments: list[Fragment] = []
        self._places: list[int] = []  # for each fragment, its index in `_source`
        self._pressed: Offset | None = None
        self._lexers = Lexers()
        self._coloured = 0
        self._layout: LineLayout | None = None  # None until the colours and the width are known
        self._drawn_at = 0  # the width of the lines
        self.on_moved: Callable[[], None] = lambda: None
        """Called when other lines may be visible."""

    def show(self, fragments: Sequence[Fragment]) -> None:
        """Show these fragments, from their top, or from the first change if they do not fit."""
        self._source, self._open = fragments, set()
        self._layout, self._drawn_at = None, 0
        self._unfold()
        self._arrange()
        self.scroll_to(y=0, animate=False, force=True)

    @property
    def _folds(self) -> set[int]:
        return {at for at, each in enumerate(self._source) if isinstance(each, DiffFold)}

    def toggle_folds(self) -> bool:
        """Open every fold, or close them if all are open. Return whether there is one."""
        folds = self._folds
        self._open_only(set() if folds <= self._open else folds)
        return bool(folds)

    def open_next(self) -> None:
        """Open the first closed fold in view, if there is one."""
        if (layout := self._layout) is None:
            return
        for y in range(self.scroll_offset.y, min(layout.height, self.scroll_offset.y + self._rows)):
            place = self._places[layout.line(y)[0]]
            if place in self._folds - self._open:
                self._open_only(self._open | {place})
                return

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Note where a click begins."""
        self._pressed = event.screen_offset

    def on_click(self, event: events.Click) -> None:
        """Open or close the fold whose line was clicked."""
        y = self.scroll_offset.y + event.y
        if self._layout is None or event.screen_offset != self._pressed or not 0 <= y < self._layout.height:
            return
        piece = self._layout.line(y)[0]
        if isinstance(self._fragments[piece], DiffFold):
            self._open_only(self._open ^ {self._places[piece]})

    def _open_only(self, folds: set[int]) -> None:
        """Open these folds and no other; the first visible line, or the fold that it is in, stays where it is."""
        layout = self._layout
        if layout is None or folds == self._open:
            return
        piece, line, _ = layout.line(min(self.scroll_offset.y, max(0, layout.height - 1)))
        place = self._places[piece]
        within = piece - self._places.index(place)
        stays = place in folds or not within  # else it was in a fold that closes
        self._open = folds
        self._unfold()
        layout.update(self._fragments)
        first = self._places.index(place)
        self._settle(at=(first + within, line) if stays else (first, 0))
        self.refresh()

    def _unfold(self) -> None:
        self._fragments, self._places = [], []
        for place, fragment in enumerate(self._source):
            pieces = fragment.opened() if place in self._open and isinstance(fragment, DiffFold) else [fragment]
            self._fragments += pieces
            self._places += [place] * len(pieces)

    @property
    def _rows(self) -> int:
        """Return the visible rows: those of the content, up to the maximum that its screen sets.

        Textual's `size` is still that of the previous content if a key comes before the new one is laid out.
        """
        most = self.styles.max_height
        if most is None or not most.is_cells or self._layout is None:
            return self.size.height
        return min(self._layout.height, int(most.value))

    @property
    def changes_below(self) -> int:
        """Return how many changed lines of a diff are below the visible ones; a folded line counts as one row."""
        layout, bottom = self._layout, self.scroll_offset.y + self._rows
        if layout is None or layout.height <= bottom:
            return 0
        first, within, _ = layout.line(bottom)
        rest = (
            each.lines[within if at == first else 0 :]
            for at, each in enumerate(self._fragments)
            if at >= first and isinstance(each, Diff)
        )
        return sum(line.sign in CHANGED for lines in rest for line in lines)

    def to_first_change(self) -> bool:
        """Scroll to the first changed line, if not everything fits. Return whether the lines were laid out for it."""
        layout = self._layout
        if layout is None or self.virtual_size.height < layout.height:
            return False
        if layout.height <= self._rows:
            return True
        for at, each in enumerate(self._fragments):
            signs = [line.sign in CHANGED for line in each.lines] if isinstance(each, Diff) else []
            if True in signs:
                self.scroll_to(y=layout.top(at) + signs.index(True), animate=False, force=True)
                break
        return True

    @property
    def overflows(self) -> bool:
        """Return whether there is more than fits."""
        return self.virtual_size.height > self._rows

    def scroll_lines(self, by: int) -> None:
        """Scroll by `by` lines, down if positive."""
        self.scroll_relative(y=by, animate=False, force=True)

    def scroll_page(self, by: int) -> None:
        """Scroll by `by` pages, keeping one line of the last."""
        self.scroll_lines(by * max(1, self._rows - 1))

    def action_scroll_home(self) -> None:
        """Scroll to the top at once."""
        self.scroll_to(y=0, animate=False, force=True)

    def action_scroll_end(self) -> None:
        """Scroll to the end at once: corrected estimates would end an animation on the way."""
        self.scroll_to(y=self.max_scroll_y, animate=False, force=True)

    def on_mount(self) -> None:
        """Colour the text once the colours of its language are known."""
        self.set_interval(_TICK, self._tick)

    def on_resize(self) -> None:
        """Fold to the new width, and draw what came into view."""
        if self._drawn_at != self._columns:
            self._arrange()
        else:
            self._settle()
            self.refresh()

    def notify_style_update(self) -> None:
        """Draw in the colours of the current theme."""
        super().notify_style_update()
        self.call_later(self._arrange)  # the component styles are updated after this call

    def render_line(self, y: int) -> Strip:
        """Return the line in row `y`."""
        base: Style = self.rich_style
        drawn = self._line(self.scroll_offset.y + y)
        strip = Strip.blank(self.size.width, base) if drawn is None else drawn.strip
        strip = strip.adjust_cell_length(self.size.width, base)
        _, background = self.background_colors
        for each in self.get_line_filters():
            strip = strip.apply_filter(each, background)
        return strip

    @property
    def _columns(self) -> int:
        return max(_NARROWEST, self.scrollable_content_region.width)

    def _tick(self) -> None:
        if self._coloured != self._lexers.loaded:
            self._coloured = self._lexers.loaded
            self._arrange()

    def _arrange(self) -> None:
        """Draw all lines at the current width."""
        if not self.is_attached or not self.size.width:
            return
        styles = styles_of(self.get_component_rich_style, self._lexers)
        self._drawn_at = self._columns
        self._layout = LineLayout(styles, self._drawn_at)
        self._layout.update(self._fragments)
        self._settle()
        self.refresh()  # Textual caches the lines of a widget whose size does not change

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw what comes into view."""
        super().watch_scroll_y(old_value, new_value)
        self._settle()

    def _line(self, y: int) -> DrawnLine | None:
        layout = self._layout
        return layout.line(y)[2] if layout is not None and 0 <= y < layout.height else None

    def _settle(self, at: tuple[int, int] | None = None) -> None:
        """Draw the visible lines and as many above and below; keep the first visible one, or the end, in its place.

        With `at`, a fragment and its line, that line becomes the first visible one.
        """
        layout = self._layout
        if layout is None:
            return
        if layout.height <= _AT_ONCE:
            layout.draw(0, _END)
        top, rows = self.scroll_offset.y, max(1, self.size.height)
        ends = 0 < self.max_scroll_y <= top and at is None
        if at is not None:
            top = layout.top(at[0]) + at[1]
        for _ in range(_PASSES):
            piece, line, _ = layout.line(min(top, max(0, layout.height - 1)))
            height = layout.height
            layout.draw(max(0, top - rows), top + 2 * rows)
            top = layout.top(piece) + line
            if layout.height == height:
                break
        self.styles.height = layout.height
        self.virtual_size = Size(self.size.width, layout.height)
        if ends:
            top = self.max_scroll_y
        if top != self.scroll_offset.y:
            self.scroll_to(y=top, animate=False, force=True)
        self.on_moved()
