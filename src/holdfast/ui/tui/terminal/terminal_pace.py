"""Keeps frames in step with a slow terminal: a status query follows a frame, and frames are skipped until the answer.

How it works. A frame is followed by a query that every terminal answers (`ESC [5n`). While an answer is overdue, the
terminal, or the link to it, still processes older frames: a new one would only be late, so it is skipped. When the
answer comes, one frame of the newest state is drawn, and only the rows that changed.

Why not look at how much is unwritten? The system, an ssh server and the network buffer kilobytes to megabytes: at 2,400
baud a minute of frames. Why not a lower frame rate? It would have to be that of the slowest link.

A terminal that has never answered is never waited for.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence

from holdfast.ui.tui.terminal.frames import PlacedText

STATUS_QUESTION, STATUS_ANSWER = "\x1b[5n", "\x1b[0n"

ESCAPE_KEY = "\x1b[27u"
"""The Esc key in the kitty protocol, which is complete: nothing can follow."""

OVERDUE = 0.1
"""Seconds after which an unanswered query holds frames back."""

SLOW = 0.3
"""Seconds; a terminal that answers later gets only few rows at a time."""

MOST_DRAWN = 800
"""Maximum characters drawn at once after skipped frames: the lowest rows first, where the user types."""

ANSWER_LOST = 20.0
"""Seconds after which an answer counts as lost."""

FAST, EVERY = 0.05, 2_048
"""A terminal that answers within `FAST` seconds is asked again only after `EVERY` characters."""


class Pacing:
    """The questions and answers of one terminal; `answered` may be called on another thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked_at: float | None = None
        self._response_time: float | None = None  # seconds until the last answer, None before the first
        self._since = 0  # characters since the last question
        self._lock = threading.Lock()
        self._free = threading.Event()
        self._free.set()

    @property
    def may_draw(self) -> bool:
        """Return whether the terminal has processed the last frame, or never answered."""
        with self._lock:
            if self._asked_at is None or self._response_time is None:
                return True
            waited = self._clock() - self._asked_at
            return waited < (OVERDUE if self._response_time < FAST else 0) or waited > ANSWER_LOST

    @property
    def is_slow(self) -> bool:
        """Return whether the terminal takes long for a frame."""
        return self._response_time is not None and self._response_time > SLOW

    @property
    def waits(self) -> bool:
        """Return whether an answer is on its way."""
        return self._asked_at is not None

    def question(self, size: int) -> str:
        """Return the query to write after a frame of `size` characters, "" if none is due."""
        with self._lock:
            self._since += size
            now = self._clock()
            if self._asked_at is not None and now - self._asked_at <= ANSWER_LOST:
                return ""
            if self._response_time is not None and self._response_time < FAST and self._since < EVERY:
                return ""
            self._since = 0
            self._asked_at = now
            self._free.clear()
            return STATUS_QUESTION

    def answered(self) -> None:
        """Note an answer."""
        with self._lock:
            if self._asked_at is not None:
                self._response_time = self._clock() - self._asked_at
                self._asked_at = None
                self._free.set()

    def forget(self) -> None:
        """Expect no answer: the shell has read it."""
        with self._lock:
            self._asked_at = None
            self._free.set()

    def wait(self, seconds: float) -> None:
        """Wait for the answer, if the terminal ever answered: else it would be typed into the shell."""
        if self._response_time is not None:
            self._free.wait(seconds)


class ShownRows:
    """The text of the terminal's rows, if known."""

    def __init__(self) -> None:
        self._rows: dict[int, str] = {}

    def clear(self) -> None:
        """Forget all rows: something else was drawn."""
        self._rows.clear()

    def note(self, pieces: Sequence[PlacedText], *, full: bool) -> None:
        """Note the rows of a written frame; those of one that is not `full` become unknown."""
        for row, _, text in pieces:
            if not text:
                continue
            if full:
                self._rows[row] = text
            else:
                self._rows.pop(row, None)

    def changed(self, pieces: Sequence[PlacedText]) -> tuple[PlacedText, ...]:
        """Return the pieces of a full frame that differ from the terminal, and those that only place the cursor."""
        return tuple(piece for piece in pieces if not piece.text or self._rows.get(piece.row) != piece.text)


def lowest(pieces: Sequence[PlacedText], most: int = MOST_DRAWN) -> tuple[PlacedText, ...]:
    """Return the lowest pieces with at most `most` characters in all, but at least one with text."""
    chosen: list[PlacedText] = []
    size = 0
    for piece in sorted(pieces, key=lambda piece: -piece.row):
        if piece.text and size and size + len(piece.text) > most:
            break
        size += len(piece.text)
        chosen.append(piece)
    return tuple(chosen)


class StatusAnswers:
    """Removes the answers from the input, which comes in pieces of any size.

    An ESC in front of an answer was the key: what a key sends is not cut by an answer. So the parser need not wait for
    more of it, and gets `ESCAPE_KEY`.
    """

    _ESCAPES = re.compile(rf"\x1b+(?={re.escape(STATUS_ANSWER)})")

    def __init__(self) -> None:
        self._partial = ""

    def take(self, data: str, *, waits: bool) -> tuple[str, int]:
        """Return the input without answers, and their number; with `waits`, the beginning of one is held back."""
        data, self._partial = self._partial + data, ""
        found = data.count(STATUS_ANSWER)
        if found:
            data = self._ESCAPES.sub(lambda keys: ESCAPE_KEY * len(keys[0]), data).replace(STATUS_ANSWER, "")
        if waits and not found:
            for size in range(len(STATUS_ANSWER) - 1, 0, -1):
                if data.endswith(STATUS_ANSWER[:size]):
                    data, self._partial = data[:-size], data[-size:]
                    break
        return data, found

    def flush(self) -> str:
        """Return what was held back, because no more came."""
        partial, self._partial = self._partial, ""
        return partial
