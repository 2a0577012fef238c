"""Keeps the order of keys that Textual handles in different places.

Enter, or another key that sends, is handled by the composer, which may first wait for completions, and what it sends
comes to the app as a message. Esc and Ctrl+C are bindings of the app and would be handled at once: the stop of a turn
before its prompt.

Letters are handled by the line in which they are typed, but the keys bound there, such as Backspace, by the app, which
gets them after the line: of "ax", Backspace, "b" in one piece, as a slow connection brings them, "ax" would stay.
"""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widget import Widget
from textual.widgets import Input


async def run_own_binding(widget: Widget, event: events.Key) -> bool:
    """Run what the key is bound to in the widget itself, before any key that follows. Return whether it is bound."""
    typed = event.is_printable and "+" not in event.key  # Alt with a letter is said to be printable too
    bound = None if typed else widget.screen.active_bindings.get(event.key)
    if bound is None or bound.node is not widget or not bound.enabled:
        return False
    event.stop()
    event.prevent_default()
    return await widget.app.run_action(bound.binding.action, widget)  # pyright: ignore[reportUnknownMemberType] - an app of any result


class LineInput(Input):
    """A line to type in, which takes its keys in the order in which they were pressed."""

    async def _on_key(self, event: events.Key) -> None:
        if not await run_own_binding(self, event):
            await super()._on_key(event)


class KeyOrder:
    """The Enter keys that are not handled yet, and the action of a key behind them."""

    def __init__(self) -> None:
        self._entering = 0
        self._action: Callable[[], None] | None = None

    def pressed(self) -> None:
        """Count an Enter on its way to the composer."""
        self._entering += 1

    def handled(self) -> None:
        """Count it as handled, and do what waited for the last of them."""
        self._entering = max(0, self._entering - 1)
        if not self._entering and self._action is not None:
            action, self._action = self._action, None
            action()

    def waits(self, action: Callable[[], None]) -> bool:
        """Return whether the action is done later, behind an Enter; the second time it is to be done at once."""
        waits = self._entering > 0 and self._action is None
        self._action = action if waits else None
        return waits
