"""A terminal's screen with history and an alternate screen, which pyte's own screens do not have together."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyte says little of its types

from __future__ import annotations

import copy
from typing import Any

import pyte

_ALTERNATE = 1049


class HistoryTerminal(pyte.HistoryScreen):
    """A screen that keeps what scrolls out at the top, but not what scrolls on the alternate screen."""

    def __init__(self, columns: int, lines: int) -> None:
        super().__init__(columns, lines, history=100_000)
        self._main: tuple[Any, Any, Any] | None = None

    def set_mode(self, *modes: int, **kwargs: bool) -> None:
        """Enter the alternate screen, with nothing on it; or set any other mode."""
        if kwargs.get("private") and _ALTERNATE in modes and self._main is None:
            self._main = (
                copy.deepcopy(self.buffer),
                copy.copy(self.cursor),
                copy.copy(self.history.top),
            )
            self.erase_in_display(2)
        super().set_mode(*modes, **kwargs)

    def reset_mode(self, *modes: int, **kwargs: bool) -> None:
        """Leave the alternate screen, back to what was on the main one; or reset any other mode."""
        super().reset_mode(*modes, **kwargs)
        if kwargs.get("private") and _ALTERNATE in modes and self._main is not None:
            buffer, cursor, top = self._main
            self._main = None
            self.buffer, self.cursor = buffer, cursor
            self.history.top.clear()
            self.history.top.extend(top)
            self.dirty.update(range(self.lines))

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Change the size as xterm does: rows below the cursor go first, then the top ones go into the history."""
        lines = lines or self.lines
        for _ in range(max(0, self.lines - lines)):
            if self.cursor.y < self.lines - 1:
                self.buffer.pop(self.lines - 1, None)
            else:
                self.history.top.append(self.buffer[0])
                for row in range(self.lines - 1):
                    self.buffer[row] = self.buffer[row + 1]
                self.buffer.pop(self.lines - 1, None)
                self.cursor.y -= 1
            self.lines -= 1
        self.set_margins()
        super().resize(lines, columns)

    @property
    def alternate(self) -> bool:
        """Return whether the alternate screen is shown."""
        return self._main is not None

    def rows(self) -> list[str]:
        """Return all rows, those of the history first, without the blanks at their ends."""
        above = ["".join(row[at].data for at in range(self.columns)).rstrip() for row in self.history.top]
        return [*above, *(line.rstrip() for line in self.display)]
