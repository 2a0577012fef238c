"""Keeps the order of Enter and the keys that stop what it begins.

Enter is handled by the composer, which may first wait for completions, and what it sends comes to the app as a message.
Esc and Ctrl+C are bindings of the app and would be handled at once: the stop of a turn before its prompt.
"""

from __future__ import annotations

from collections.abc import Callable


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
