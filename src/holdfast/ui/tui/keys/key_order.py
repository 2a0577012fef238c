"""Keeps the order of keys that Textual handles in different places.

Enter, or another key that sends, is handled by the composer, which may first wait for completions, and what it sends
comes to the app as a message. Esc and Ctrl+C are bindings of the app and would be handled at once: a turn would be
stopped before its prompt arrives.

Letters are handled by the input widget, but its bound keys, such as Backspace, by the app, which gets them later: if
"ax", Backspace and "b" arrive in one piece, as over a slow connection, "ax" would stay.
"""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widget import Widget
from textual.widgets import Input


async def run_own_binding(widget: Widget, event: events.Key) -> bool:
    """Run the action that the widget itself binds to the key, before any later key. Return whether there is one."""
    typed = event.is_printable and "+" not in event.key  # Textual calls Alt with a letter printable too
    bound = None if typed else widget.screen.active_bindings.get(event.key)
    if bound is None or bound.node is not widget or not bound.enabled:
        return False
    event.stop()
    event.prevent_default()
    return await widget.app.run_action(bound.binding.action, widget)  # pyright: ignore[reportUnknownMemberType] - an app of any result


class LineInput(Input):
    """A line to type in that handles its keys in the order in which they were pressed."""

    async def _on_key(self, event: events.Key) -> None:
        if not await run_own_binding(self, event):
            await super()._on_key(event)


class KeyOrder:
    """The Enter keys that are not handled yet, and the action of a later key, which waits for them."""

    def __init__(self) -> None:
        self._entering = 0
        self._action: Callable[[], None] | None = None

    def pressed(self) -> None:
        """Count an Enter on its way to the composer."""
        self._entering += 1

    def handled(self) -> None:
        """Count an Enter as handled; after the last one, run the waiting action."""
        self._entering = max(0, self._entering - 1)
        if not self._entering and self._action is not None:
            action, self._action = self._action, None
            action()

    def waits(self, action: Callable[[], None]) -> bool:
        """Return whether the action will run later, after a pending Enter; a second press runs at once."""
        waits = self._entering > 0 and self._action is None
        self._action = action if waits else None
        return waits
