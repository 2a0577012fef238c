"""Finds the end of a text that repeats itself without an end, while it streams, and writes it once. Pure.

How it works. A small model can fall into one sentence and write it until its window is full, which takes hours. The end
of what has arrived is compared with what stands before it: if its last characters came before, the distance is the
period, and the text is cut once that period has come ten times. Only the end is looked at, a few times for each
thousand characters, with searches and comparisons of whole strings: no time that a fast stream would notice.

Code repeats itself lawfully, so what lies wholly within one code fence is left alone, and a rule of dashes or a table
is no chant: a period of fewer than forty characters has to fill thousands. What else is too long is a flood
(`holdfast.providers.protocols.answer_bounds`).

The model gets the text back with one period and the number of times. With all of it the next request would carry on
in the same way.

Example: "I will now read the file. " until the end of time is cut after about 500 characters. The conversation keeps
"I will now read the file. [repeated 19 times]".

Laws (`tests/agent/model_request/test_periodic_text_laws.py`): a text is found periodic in whatever pieces it arrives,
with any beginning; what is written once is a prefix of the text, one period and the count; any other text stays as it
is.
"""

from __future__ import annotations

import re

import msgspec

LEAST_PERIOD = 40
"""Characters of the shortest period that counts as a sentence."""

LONGEST_PERIOD = 4_000
"""Characters of the longest period that is looked for."""

TIMES = 10
"""How often a period has to come."""

SHORT_RUN = 16_000
"""Characters that a period shorter than `LEAST_PERIOD` has to fill."""

_STEP = 200
"""Characters to arrive before the end is looked at again."""

_MOST = LONGEST_PERIOD * TIMES
_CANDIDATES = 64
"""Distances to try: how often the last characters may also stand within one period."""

_FENCE = re.compile(r"^ {0,3}(?:```[^`\n]*|~~~[^\n]*)$", re.MULTILINE)


class Periodic(Exception):
    """A text repeats itself; the message says how, after "sent"."""


class _Run(msgspec.Struct, frozen=True):
    """The end of a text: `times` times a period of so many characters, beginning at `start`."""

    period: int
    times: int
    start: int


class PeriodicText:
    """Looks at one text while it arrives."""

    __slots__ = ("_fence", "_new", "_new_size", "_size", "_tail")

    def __init__(self) -> None:
        self._tail = ""
        self._new: list[str] = []
        self._new_size = 0
        self._size = 0  # characters before the tail
        self._fence: int | None = None  # where the open code fence begins, if one is open

    def add(self, text: str) -> None:
        """Take the next piece. Raise `Periodic` if the text repeats itself by now."""
        self._new.append(text)
        self._new_size += len(text)
        if self._new_size < _STEP:
            return
        text = self._tail + "".join(self._new)
        line = self._tail.rfind("\n") + 1  # a fence may have been incomplete
        self._new.clear()
        self._new_size = 0
        self._fence = _open_fence(text, line, self._size, self._fence)
        run = _run_at_end(text)
        if run is not None and not (self._fence is not None and self._fence <= self._size + run.start):
            raise Periodic(f"the same {run.period:,} character{'s' * (run.period > 1)} {run.times:,} times in a row")
        cut = max(len(text) - _MOST, 0)
        cut = text.rfind("\n", 0, cut) + 1 or cut  # a whole line, to see its fence
        self._tail, self._size = text[cut:], self._size + cut


def written_once(text: str) -> str:
    """Return the text with a period that its end repeats only once, and how often it came; any other text unchanged."""
    run = _run_at_end(text)
    if run is None:
        return text
    fence = _open_fence(text, 0, 0, None)
    if fence is not None and fence <= run.start:
        return text
    start, times, period = run.start, run.times, run.period
    while start >= period and text.startswith(text[start : start + period], start - period):
        start, times = start - period, times + 1
    while start and text[start - 1] == text[start - 1 + period]:  # from its first letter on
        start -= 1
    return f"{text[:start]}{text[start : start + period].rstrip()} [repeated {times:,} times]"


def _run_at_end(text: str) -> _Run | None:
    """Return the run of one period that the text ends with, None if there is none."""
    probe = text[-LEAST_PERIOD:]
    place = len(text) - LEAST_PERIOD
    if place < LEAST_PERIOD * (TIMES - 1):
        return None
    for _ in range(_CANDIDATES):
        place = text.rfind(probe, max(len(text) - LEAST_PERIOD - LONGEST_PERIOD, 0), place + LEAST_PERIOD - 1)
        if place < 0:
            return None
        period = len(text) - LEAST_PERIOD - place
        least = LEAST_PERIOD * TIMES if period < LEAST_PERIOD else period * TIMES
        if _repeats(text, period, least):
            size = least if period >= LEAST_PERIOD else SHORT_RUN
            times = -(-size // period)
            return _Run(period, times, len(text) - period * times) if _repeats(text, period, period * times) else None
    return None


def _repeats(text: str, period: int, size: int) -> bool:
    """Return whether the last `size` characters repeat a period."""
    return size <= len(text) and text[-size:-period] == text[-(size - period) :]


def _open_fence(text: str, begin: int, before: int, fence: int | None) -> int | None:
    """Return where the code fence begins that is open at the end, None if none is; `before` precedes the text."""
    for found in _FENCE.finditer(text, begin):
        if found.end() == len(text):  # its line may go on
            break
        fence = before + found.start() if fence is None else None
    return fence
