"""The whole transcript as a page, for the inline screen: text in the terminal's history cannot be expanded."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from holdfast.ui.tui.widgets.pickers import OverlayScreen
from holdfast.ui.tui.widgets.transcript import Transcript
from holdfast.ui.view.view import View

_NEWS = 0.2
"""Seconds between checks for new blocks."""


class TranscriptPage(OverlayScreen[None]):
    """A view with all its blocks, expanded; it shows new blocks too."""

    CSS = """
    TranscriptPage { background: $background; }
    TranscriptPage #keys { height: 1; padding: 0 2; color: $foreground 60%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "dismiss(None)", "Leave", show=False, priority=True),
        Binding("ctrl+o", "fold", "Collapse", show=False, priority=True),
        Binding("pageup,b", "page(-1)", show=False, priority=True),
        Binding("pagedown,space", "page(1)", show=False, priority=True),
        Binding("end,ctrl+end,G", "end", show=False, priority=True),
        Binding("home,ctrl+home,g", "home", show=False, priority=True),
    ]

    def __init__(self, view: View) -> None:
        super().__init__()
        self._view = view
        self._transcript = Transcript()
        self._count = 0

    def compose(self) -> ComposeResult:
        """Yield the transcript and the key hints."""
        yield self._transcript
        yield Static("↑ ↓ PgUp PgDn · Ctrl+O folds and unfolds · Esc to close", id="keys", markup=False)

    def on_mount(self) -> None:
        """Show the end, expanded."""
        super().on_mount()
        self._transcript.load(self._view)
        self._transcript.toggle_all()
        self._transcript.focus()
        self._count = len(self._view.keys)
        self.set_interval(_NEWS, self._update_blocks)

    def action_fold(self) -> None:
        """Collapse or expand all blocks."""
        self._transcript.toggle_all()

    def action_page(self, by: int) -> None:
        """Scroll by almost a page."""
        (self._transcript.action_page_up if by < 0 else self._transcript.action_page_down)()

    def action_end(self) -> None:
        """Scroll to the end."""
        self._transcript.follow()

    def action_home(self) -> None:
        """Scroll to the beginning."""
        self._transcript.action_scroll_home()

    def _update_blocks(self) -> None:
        """Show new blocks, and changes in the last ones."""
        first = min(self._view.settled(max(0, self._count - 1)), self._count)
        self._transcript.show(self._view.keys[max(0, first - 1) :])
        self._count = len(self._view.keys)
