"""The transcript: the blocks of a view as lines one scrolls through, drawn when they are looked at.

Two rules. What a frame costs does not depend on how long the session is. Nothing of a model's, a tool's or a file's
text is read as markup or reaches the terminal as anything but characters.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.scroll_view import ScrollView

from holdfast.ui.blocks import Key
from holdfast.ui.view import View


class Transcript(ScrollView, can_focus=True):
    """Draw a view and follow its end, unless the person has scrolled up."""

    def load(self, view: View) -> None:
        """Show another view, at its end."""

    def show(self, changed: Iterable[Key]) -> None:
        """Draw what changed in the view, with the next frame; call it with whatever `View.take` returned."""

    def follow(self) -> None:
        """Go to the end and stay there."""

    def toggle(self, key: Key) -> None:
        """Show all of a block, or its first lines again."""

    def toggle_all(self) -> None:
        """Show all of every block, or only the first lines again."""

    def text(self) -> str:
        """Return the text of the last finished answer, for /copy."""
        return ""
