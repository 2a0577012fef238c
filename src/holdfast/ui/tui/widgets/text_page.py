"""A page to read over the transcript, or several of them."""

from __future__ import annotations

from typing import ClassVar

from rich.console import RenderableType
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from holdfast.ui.tui.widgets.pickers import OverlayScreen

_AROUND_PAGE = 4
"""Lines of a page other than its text: the padding, and the keys below it."""


class TextPage(OverlayScreen[None]):
    """One or more pages; Tab turns to the next, several keys close the screen."""

    CSS = """
    TextPage { align: center middle; background: $background 60%; }
    TextPage Vertical { width: 100%; max-width: 100; height: auto; max-height: 92%; padding: 1 2; }
    TextPage Vertical { background: $surface; }
    TextPage VerticalScroll { height: auto; background: $surface; }
    TextPage #foot { height: 1; color: $foreground 60%; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,ctrl+c", "dismiss(None)", "Leave", show=False, priority=True),
        Binding("tab", "turn", show=False, priority=True),
    ]

    def __init__(self, *pages: RenderableType) -> None:
        super().__init__()
        self._pages = pages
        self._page = 0

    def compose(self) -> ComposeResult:
        """Yield the first page, and the keys below it."""
        with Vertical():
            with VerticalScroll():
                yield Static(self._pages[0], id="page")
            yield Static(id="foot")

    def on_mount(self) -> None:
        """Fit the page to the screen."""
        super().on_mount()
        self._fit()

    def on_resize(self) -> None:
        """Fit the page to the size."""
        self._fit()

    def action_turn(self) -> None:
        """Turn to the next page."""
        self._page = (self._page + 1) % len(self._pages)
        self.query_one("#page", Static).update(self._pages[self._page])
        self.query_one(VerticalScroll).scroll_home(animate=False)
        self._fit()

    def _fit(self) -> None:
        """Leave the page as many rows as fit above the keys, and name the keys that scroll if it has more."""

        def fit() -> None:
            if self.is_attached:
                shown = self.query_one(VerticalScroll)
                most = max(1, self.app.size.height * 92 // 100 - _AROUND_PAGE)  # pyright: ignore[reportUnknownMemberType] - an app of any result
                shown.styles.max_height = most
                scrolls = "↑ ↓ PgUp PgDn scroll · " if shown.virtual_size.height > most else ""
                self.query_one("#foot", Static).update(f"{scrolls}Esc to close")

        self.call_after_refresh(fit)

    def on_click(self, event: events.Click) -> None:
        """Close on a click outside it."""
        if event.widget is self:
            self.dismiss(None)
