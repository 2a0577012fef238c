"""Whether a key is pressed twice in a row: a second Esc or Ctrl+C has another meaning."""

from __future__ import annotations

import time
from collections.abc import Callable


class RepeatedKey:
    """The key pressed last; a second press counts `within` that many seconds of `clock`."""

    def __init__(self, within: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._within = within
        self._clock = clock
        self._pressed = "", float("-inf")

    def press(self, key: str) -> bool:
        """Return whether the same key was pressed a moment ago, without another one since."""
        now = self._clock()
        again = self._pressed[0] == key and now - self._pressed[1] < self._within
        self._pressed = key, float("-inf") if again else now
        return again
