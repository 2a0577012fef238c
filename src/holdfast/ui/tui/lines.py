"""Lines of the transcript: styled text made safe, folded to a width, and known for what it is when it is copied.

Two rules. Every character of a line has passed `clean`. A fold never loses one, but for white space where it folds.
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
from holdfast.ui.tui.look import Look

Run = tuple[str, Style]
"""A piece of a line in one style."""

MARK = 2
"""Cells to the left of every line, where its mark hangs."""

TAB = 4
_MARKS = 8
"""How many characters without a width may follow one that has; more would pile up over the lines around it."""

_WORD = re.compile(r"\s*\S+\s*|\s+")
_NOT_ASCII = re.compile(rf"[^\x00-\x7f]{{{_MARKS + 1},}}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


class Line(NamedTuple):
    """A line as drawn: `margin` characters of it are not text, `join` what it goes on with when it was folded.

    `mark` hangs to the left of it, `MARK` cells wide.
    """

    strip: Strip
    margin: int = 0
    join: str = "\n"
    mark: Run | None = None

    def text(self) -> str:
        """Return what it says, for a clipboard."""
        return self.strip.text[self.margin :]


class Piece(Protocol):
    """Some lines that are drawn together, when they are looked at; equal pieces look the same."""

    def guess(self, width: int) -> int:
        """Return about how many lines it has, at no cost."""
        ...

    def draw(self, look: Look, width: int) -> list[Line]:
        """Return its lines, none of them wider than `width`."""
        ...


def clean(text: str) -> str:
    """Return `text` with nothing in it but characters that show, newlines and spaces; tabs are spaces then."""
    if text.isascii() and text.isprintable():
        return text
    text = printable(valid_unicode(text)).replace("\u2028", "\n").replace("\u2029", "\n")
    if "\t" in text:
        text = text.expandtabs(TAB)
    return text if text.isascii() else _NOT_ASCII.sub(_thinned, text)


def _thinned(found: re.Match[str]) -> str:
    """Return the characters but those that pile up on one place."""
    kept: list[str] = []
    marks = 0
    for character in found[0]:
        marks = 0 if get_character_cell_size(character) else marks + 1
        if marks <= _MARKS:
            kept.append(character)
    return "".join(kept)


def line(runs: Iterable[Run], *, margin: Sequence[Run] = (), join: str = "\n") -> Line:
    """Return the runs as one line after its margin; what is unsafe in them still is shown as U+FFFD."""
    segments = [
        Segment(text if text.isprintable() else _UNSAFE.sub("\ufffd", text), style)
        for text, style in (*margin, *runs)
        if text
    ]
    return Line(Strip(segments), sum(len(text) for text, _ in margin), join)


def fold(
    runs: Sequence[Run], width: int, *, first: Sequence[Run] = (), rest: Sequence[Run] | None = None, words: bool = True
) -> Iterator[Line]:
    """Yield the runs (without newlines) folded to `width`, margins included: `first`, then `rest` (or `first` again).

    `words` folds between words where it can; else a line is filled to its last cell, as code is.
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
        yield line(_slice(runs, begin, stop), margin=rest if begin else first, join=join)
        begin = end
        if last:
            return


def crop(runs: Sequence[Run], width: int) -> list[Run]:
    """Return the runs cut to one line of `width`, with an ellipsis where something is left out."""
    runs = _slice(runs, 0, width * (_MARKS + 2))  # more than can be seen; the rest may be long
    plain = "".join(text for text, _ in runs)
    if cell_len(plain) <= width:
        return runs
    kept = chop_cells(plain, max(1, width - 1))[0]
    cut = _slice(runs, 0, len(kept))
    return [*cut, ("…", cut[-1][1] if cut else runs[0][1])]


def pad(runs: Sequence[Run], width: int, style: Style) -> list[Run]:
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
        if used + size > width:  # longer than a line: one of a script without spaces goes on in this one
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


def _slice(runs: Sequence[Run], begin: int, end: int) -> list[Run]:
    """Return the runs of characters `begin` to `end`."""
    cut: list[Run] = []
    at = 0
    for text, style in runs:
        if at >= end:
            break
        if at + len(text) > begin:
            cut.append((text[max(0, begin - at) : end - at], style))
        at += len(text)
    return cut
