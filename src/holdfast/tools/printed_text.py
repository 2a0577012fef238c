r"""What a line printer would keep of a command's output: the text that a model reads. Pure, and linear in its input.

A terminal acts on colours, on a carriage return that draws a progress bar again, and on backspaces. A model only pays
for them: one progress line can have 26,000 characters. The file with the whole output stays as it is, and the
screen keeps the colours.

A program that draws several lines again moves the cursor up first: docker, npm, cargo, pytest's plugins. Those lines
are kept in a list of rows, in which what is drawn again replaces what stood there, at most `HIGHEST_SCREEN` rows above
the newest, as on a screen. What is drawn at a fixed place of the screen and left again, such as apt's bar, is dropped.
A program that clears the screen `MOST_CLEARED` times or more draws frames, as `watch` does: the last one stays, and
what stood there before the first. One that clears it once, before a build say, loses nothing.

Example: `10 %\r50 %\r100 %\n` becomes `100 %\n`, and a line that is printed 500 times stands there twice, with a count.
`a 1 %\nb 1 %\n\x1b[2Aa 9 %\nb 9 %\n` becomes `a 9 %\nb 9 %\n`.

Laws (`tests/tools/test_printed_text_laws.py`): no escape code, carriage return or backspace is left, and no more lines
than there were; text without controls and without runs of equal lines stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

_TO_COLUMN_1 = re.compile(r"\x1b\[(?:[01]?G|2K)")  # a spinner's way to write a carriage return
_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]{0,4096}\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b\[[0-?]{0,64}[ -/]{0,4}[@-~]"  # CSI: colours, movements
    r"|\x1b[ -/]{0,4}[0-~]"  # two-byte escapes
)
_CLEARED = re.compile(
    r"(?:\x1b\[[0-9;]{0,9}H\x1b\[0?J|(?:\x1b\[[0-9;]{0,9}H)?\x1b\[2J|\x1bc)(?:\x1b\[3J)?(?:\x1b\[[0-9;]{0,9}H)?"
)
"""How programs clear the screen and go to its beginning."""
_UP = re.compile(r"\x1b\[[0-9]{0,4}[AF]")
_MOVED = re.compile(r"\x1b\[([0-9]{0,4})([ABEFJK])|\r?\n|\r|[^\x1b\r\n]+|\x1b")
_PLACED = re.compile(
    r"\x1b(?:7|\[s)(?=[^\n]{0,64}?\x1b\[[0-9]{1,4};[0-9]{0,4}[Hf])[^\n\x1b]{0,512}(?:\x1b\[[^\n\x1b]{0,512}){0,32}\x1b(?:8|\[u)"
)
_CONTROL = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f]")
_COLOUR = re.compile(r"\x1b\[[0-9;:]{0,64}m")
_NO_COLOUR = re.compile(rf"(?!{_COLOUR.pattern}){_CONTROL.pattern}")
_BACKSPACE = "\b"
SHOWN_OF_RUN = 2
"""How many of a run of equal lines are shown."""
MOST_CLEARED = 3
"""How often a screen may be cleared before what is drawn on it counts as frames."""
HIGHEST_SCREEN = 200
"""Rows that the cursor can go up: a screen is not higher."""
FEWEST = 5
"""How many equal lines make a run."""


def printed_text(text: str, *, keep_colours: bool = False) -> str:
    """Return `text` without escape codes, with the last of each line's frames, and with runs of equal lines counted.

    A NUL stays: it says that the output is binary. With `keep_colours`, SGR stays, for a reader that takes it apart.
    """
    if _CONTROL.search(text):
        text = _last_screen(_PLACED.sub("", text))
        if _UP.search(text):
            text = _drawn(text)
        text = _SEQUENCE.sub(_colour if keep_colours else "", _TO_COLUMN_1.sub("\r", text)).replace("\r\n", "\n")
        text = "\n".join(map(_last_frame, text.split("\n")))
        text = (_NO_COLOUR if keep_colours else _CONTROL).sub("", text)
    return "\n".join(_counted(text.split("\n")))


def _last_screen(text: str) -> str:
    """Return the text without the frames that a screen showed before the last one that shows something."""
    if "\x1b" not in text:
        return text
    screens = _CLEARED.split(text)
    if len(screens) <= MOST_CLEARED:
        return text
    last = next((each for each in reversed(screens[1:]) if _SEQUENCE.sub("", each).strip()), "")
    before = screens[0]
    left_out = text.count("\n") - before.count("\n") - last.count("\n")
    return f"{before}\n{last}" if left_out and before and not before.endswith("\n") else f"{before}{last}"


def _drawn(text: str) -> str:
    """Return the rows that are left when the cursor has gone up and drawn lines again.

    A row keeps its carriage returns and colours, which are taken out of it afterwards. A row is drawn again from its
    beginning: what programs overwrite of a line, they overwrite whole.
    """
    rows: list[list[str]] = [[]]
    at, fresh = 0, False  # whether the next text replaces the row
    for found in _MOVED.finditer(text):
        count = int(found[1] or 1)
        match f"\x1b{found[2]}" if found[2] else found[0]:
            case "\x1bA" | "\x1bF":
                at, fresh = max(at - count, len(rows) - HIGHEST_SCREEN, 0), True
            case "\x1bB" | "\x1bE":
                at, fresh = min(at + count, len(rows) - 1), True
            case "\x1bJ" if not found[1] or found[1] == "0":
                del rows[at + 1 :]
                rows[at], fresh = [] if fresh else rows[at], False
            case "\x1bK" if fresh or found[1] == "2":
                rows[at], fresh = [], False
            case "\x1bJ" | "\x1bK":
                pass
            case "\n" | "\r\n":
                at, fresh = at + 1, True
                if at == len(rows):
                    rows.append([])
            case "\r" if at < len(rows) - 1:
                fresh = True
            case _:
                if fresh:
                    rows[at], fresh = [], False
                rows[at].append(found[0])
    return "\n".join(map("".join, rows))


def _colour(found: re.Match[str]) -> str:
    return found[0] if _COLOUR.fullmatch(found[0]) else ""


def _last_frame(line: str) -> str:
    """Return what the last of the frames of a line shows: what stands after its last carriage return, if anything."""
    if "\r" in line:
        line = next((frame for frame in reversed(line.split("\r")) if _COLOUR.sub("", frame).strip()), "")
    return _rubbed_out(_COLOUR.sub("", line)) if _BACKSPACE in line else line


def _rubbed_out(line: str) -> str:
    """Return the line with its backspaces applied."""
    characters: list[str] = []
    for character in line:
        if character != _BACKSPACE:
            characters.append(character)
        elif characters:
            characters.pop()
    return "".join(characters)


def _counted(lines: list[str]) -> Iterator[str]:
    """Yield the lines; of a run of equal ones the first, and how many more there are."""
    for line, run in groupby(lines):
        count = sum(1 for _ in run)
        if count < FEWEST or not line.strip():
            yield from [line] * count
        else:
            yield from [line] * SHOWN_OF_RUN
            yield f"[... the line above {count - SHOWN_OF_RUN} more times ...]"
