"""Lines of the transcript: styled text made safe, folded to a width, and copyable as source.

Every character of a line has passed `clean`. Folding never loses a character, except whitespace at a fold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from rich.cells import cell_len, chop_cells, get_character_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from holdfast.text import printable, valid_unicode
from holdfast.ui.tui.render.styles import Styles

StyledRun = tuple[str, Style]
"""A run of characters in one style."""

MARK_WIDTH = 2
"""Cells at the left of every line, for its mark."""

TAB = 4
_MARKS = 8
"""Zero-width characters allowed after a visible one; more would overlap the lines around it."""

_WORD = re.compile(r"\s*\S+\s*|\s+")
_NOT_ASCII = re.compile(rf"[^\x00-\x7f]{{{_MARKS + 1},}}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


class DrawnLine(NamedTuple):
    """A drawn line: its first `margin` characters are not text; `join` connects it to the next line if it was folded.

    `mark` is drawn at its left, `MARK_WIDTH` cells wide.
    """

    strip: Strip
    margin: int = 0
    join: str = "\n"
    mark: StyledRun | None = None

    def text(self) -> str:
        """Return its text, for the clipboard."""
        return self.strip.text[self.margin :]


class Fragment(Protocol):
    """Some lines that are drawn together, on demand; equal fragments look the same."""

    def guess(self, width: int) -> int:
        """Return the approximate number of lines, cheaply."""
        ...

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its lines, none wider than `width`."""
        ...


def clean(text: str) -> str:
    """Return `text` with only visible characters, newlines and spaces; tabs become spaces."""
    if text.isascii() and text.isprintable():
        return text
    text = printable(valid_unicode(text)).replace("\u2028", "\n").replace("\u2029", "\n")
    if "\t" in text:
        text = text.expandtabs(TAB)
    return text if text.isascii() else _NOT_ASCII.sub(_without_marks, text)


def _without_marks(found: re.Match[str]) -> str:
    """Return the characters without those that pile up on one cell."""
    characters: list[str] = []
    marks = 0
    for character in found[0]:
        marks = 0 if get_character_cell_size(character) else marks + 1
        if marks <= _MARKS:
            characters.append(character)
    return "".join(characters)


def make_line(runs: Iterable[StyledRun], *, margin: Sequence[StyledRun] = (), join: str = "\n") -> DrawnLine:
    """Return the runs as one line after its margin; remaining unsafe characters become U+FFFD."""
    segments = [
        Segment(text if text.isprintable() else _UNSAFE.sub("\ufffd", text), style)
        for text, style in (*margin, *runs)
        if text
    ]
    return DrawnLine(Strip(segments), sum(len(text) for text, _ in margin), join)


def marked_strip(line: DrawnLine, base: Style) -> Strip:
    """Return a line with its mark, or with blanks in the style `base` in its place."""
    text, style = line.mark or ("", base)
    mark = Segment(text + " " * max(0, MARK_WIDTH - cell_len(text)), style)
    return Strip([mark, *line.strip], MARK_WIDTH + line.strip.cell_length)


def fold_runs(
    runs: Sequence[StyledRun],
    width: int,
    *,
    first: Sequence[StyledRun] = (),
    rest: Sequence[StyledRun] | None = None,
    words: bool = True,
) -> Iterator[DrawnLine]:
    """Yield the runs (without newlines) folded to `width`, margins included: `first`, then `rest` (default: `first`).

    With `words`, folds are between words if possible; otherwise lines are filled, as for code.
    """
    rest = first if rest is None else rest
    plain = "".join(text for text, _ in runs)
    room = max(2, width - sum(cell_len(text) for text, _ in rest))
    cuts = _cuts(plain, room) if words else _chopped(plain, room)
    begin = 0
    for end in (*cuts, len(plain)):
        last = end == len(plain)
        stop = begin + len(plain[begin:end].rstrip()) if words else end
        join = "\n" if last else "" if stop == end else " "
        yield make_line(_slice(runs, begin, stop), margin=rest if begin else first, join=join)
        begin = end
        if last:
            return


def crop(runs: Sequence[StyledRun], width: int) -> list[StyledRun]:
    """Return the runs cut to one line of `width`, with an ellipsis if something is cut."""
    runs = _slice(runs, 0, width * (_MARKS + 2))  # more than is visible; the rest may be long
    plain = "".join(text for text, _ in runs)
    if cell_len(plain) <= width:
        return runs
    beginning = chop_cells(plain, max(1, width - 1))[0]
    cut = _slice(runs, 0, len(beginning))
    return [*cut, ("…", cut[-1][1] if cut else runs[0][1])]


def pad(runs: Sequence[StyledRun], width: int, style: Style) -> list[StyledRun]:
    """Return the runs filled up with spaces to `width`."""
    room = width - sum(cell_len(text) for text, _ in runs)
    return [*runs, (" " * room, style)] if room > 0 else list(runs)


def _cuts(plain: str, width: int) -> list[int]:
    """Return where new lines begin, between words if they fit."""
    if cell_len(plain) <= width:
        return []
    cuts: list[int] = []
    used = 0
    for found in _WORD.finditer(plain):
        word = found[0].rstrip()
        size = cell_len(word)
        if used and used + size > width and (size <= width or word.isascii() or used + 1 >= width):
            cuts.append(found.start())
            used = 0
        at = found.start()
        if used + size > width:  # longer than a line: text without spaces continues on this line
            for number, part in enumerate(_parts(word, width, width - used)):
                if number:
                    cuts.append(at)
                    used = 0
                at += len(part)
                used += cell_len(part)
        else:
            used += size
        used += len(found[0]) - len(word)
    return cuts


def _parts(word: str, width: int, room: int) -> Iterator[str]:
    """Yield the word in parts: the first fits into `room`, the others into `width`."""
    if 1 < room < width:
        part = chop_cells(word, room)[0]
        yield part
        word = word[len(part) :]
    yield from chop_cells(word, width)


def _chopped(plain: str, width: int) -> list[int]:
    """Return where new lines begin if each is filled."""
    if cell_len(plain) <= width:
        return []
    cuts: list[int] = []
    at = 0
    for part in chop_cells(plain, width)[:-1]:
        at += len(part)
        cuts.append(at)
    return cuts


def _slice(runs: Sequence[StyledRun], begin: int, end: int) -> list[StyledRun]:
    """Return the runs of characters `begin` to `end`."""
    cut: list[StyledRun] = []
    at = 0
    for text, style in runs:
        if at >= end:
            break
        if at + len(text) > begin:
            cut.append((text[max(0, begin - at) : end - at], style))
        at += len(text)
    return cut


def selected_strip(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """Return the strip with characters `start` to `end` (-1: the rest) in the selection style."""
    text = strip.text
    begin = cell_len(text[:start])
    stop = strip.cell_length if end < 0 else cell_len(text[:end])
    before, chosen, after = strip.divide([begin, max(begin, stop), strip.cell_length])
    return Strip.join([before, strip_over(chosen, style), after])


def strip_over(strip: Strip, style: Style) -> Strip:
    """Return the strip with `style` applied over its own styles."""
    return Strip(Segment.apply_style(strip, post_style=style), strip.cell_length)
