"""Plain text as fragments: lines in one tone; a long text is cut, with a note how many lines are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Literal

import msgspec
from rich.color import Color
from rich.style import Style

from holdfast.ui.tui.render.lines import TAB, DrawnLine, Fragment, clean, crop, fold_runs, make_line
from holdfast.ui.tui.render.styles import Styles

if TYPE_CHECKING:
    from holdfast.ui.view.coloured_output import Appearance, Colour, ColouredRun

OutputColours = Mapping[str, "tuple[ColouredRun, ...]"]
"""Lines of an output that have colours, by their text."""

OPENED = 2_000
"""Maximum lines of an expanded text."""

PIECE = 25
"""Lines drawn together."""

_LONGEST = 2_000
"""Maximum characters of a line, except in answers."""

_TENTHS = 10  # seconds below which tenths are shown

Tone = Literal["text", "dim", "faint", "warning", "failed"]


class Text(msgspec.Struct, frozen=True):
    """Lines of plain text in one tone, folded if `wrap`, else cut to one line each; `mark` is left of the first.

    `colours` has the runs of lines that have colours of their own, each as long as the line.
    """

    lines: tuple[str, ...]
    tone: Tone
    wrap: bool = True
    mark: tuple[str, Tone] | None = None
    above: bool = False
    colours: tuple[tuple[ColouredRun, ...], ...] = ()

    def guess(self, width: int) -> int:
        """Return the approximate number of lines."""
        long = sum(len(text) for text in self.lines) // max(1, width) if self.wrap else 0
        return self.above + len(self.lines) + long

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its lines."""
        style = tone_style(self.tone, styles)
        drawn = [make_line(())] if self.above else []
        for text, coloured in zip_longest(self.lines, self.colours, fillvalue=()):
            runs = [(part, style + style_of_look(look)) for part, look in coloured] or [(str(text), style)]
            drawn += fold_runs(runs, width) if self.wrap else [make_line(crop(runs, width))]
        if self.mark is not None and drawn:
            at = int(self.above)
            drawn[at] = drawn[at]._replace(mark=(self.mark[0], tone_style(self.mark[1], styles)))
        return drawn


def opened_text(text: str, tone: Tone, *, above: bool = False, colours: OutputColours | None = None) -> list[Fragment]:
    """Return a text as fragments; a long one is cut, with a note how many lines are missing."""
    lines = split_lines(text)
    most = lines[:OPENED]
    some = [
        Text(most[at : at + PIECE], tone, above=above and not at, colours=colours_of(most[at : at + PIECE], colours))
        for at in range(0, len(most), PIECE)
    ]
    return [*some, *missing_lines_note(len(lines) - OPENED, opens=False)]


def short_text(lines: Sequence[str], colours: OutputColours | None = None) -> list[Fragment]:
    """Return a fragment of lines, each cut to the width; none without lines."""
    return [Text(tuple(lines), "dim", wrap=False, colours=colours_of(lines, colours))] if lines else []


@lru_cache(maxsize=32)
def output_colours(output: str) -> OutputColours:
    """Return the lines of an output that have colours, by their text.

    A result says the same without them, so a line of it finds its colours here, wherever it was cut.
    """
    if "\x1b[" not in output:
        return {}
    from holdfast.ui.view.coloured_output import UNSTYLED, output_lines

    found: dict[str, tuple[ColouredRun, ...]] = {}
    for line in output_lines(output):
        if any(look != UNSTYLED for _, look in line):
            runs = tuple((clean(text), look) for text, look in _without_tabs(line))
            found["".join(text for text, _ in runs)] = runs
    return found


def colours_of(lines: Sequence[str], colours: OutputColours | None) -> tuple[tuple[ColouredRun, ...], ...]:
    """Return the runs of each line, none for one without colours."""
    return tuple(colours.get(line, ()) for line in lines) if colours else ()


def _without_tabs(line: tuple[ColouredRun, ...]) -> Iterator[ColouredRun]:
    """Yield the runs with spaces for tabs, as in the whole line."""
    column = 0
    for text, look in line:
        pieces = text.split("\t")
        for at, piece in enumerate(pieces):
            column += len(piece)
            blanks = 0 if at == len(pieces) - 1 else TAB - column % TAB
            column += blanks
            yield piece + " " * blanks, look


def style_of_look(look: Appearance) -> Style:
    """Return the style of an output's characters, to be laid over that of the text around."""
    return Style(
        color=_colour(look.colour),
        bgcolor=_colour(look.ground),
        bold=look.bold or None,
        dim=look.dim or None,
        italic=look.italic or None,
        underline=look.underline or None,
        strike=look.strike or None,
        reverse=look.reverse or None,
    )


def _colour(colour: Colour | None) -> Color | None:
    match colour:
        case None:
            return None
        case int():
            return Color.from_ansi(colour)
        case (red, green, blue):
            return Color.from_rgb(red, green, blue)


def missing_lines_note(count: int, where: Literal["more", "above"] = "more", *, opens: bool = True) -> list[Fragment]:
    """Return the note how many lines are missing, if any, with the key that shows them if the block `opens`."""
    if count <= 0:
        return []
    lines = "line" if count == 1 else "lines"
    key = " · ctrl+o" if opens else ""
    return [
        Text((f"… {count:,} more {lines}{key}" if where == "more" else f"… {count:,} {lines} above{key}",), "faint")
    ]


def split_lines(text: str) -> tuple[str, ...]:
    """Return the printable lines of a text, none for an empty one."""
    if not text.strip():
        return ()
    return tuple(
        plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]} [… {len(plain) - _LONGEST:,} more characters]"
        for plain in clean(text.rstrip("\n")).split("\n")
    )


def tone_style(tone: Tone, styles: Styles) -> Style:
    """Return the style of a tone."""
    return {
        "text": styles.text,
        "dim": styles.dim,
        "faint": styles.faint,
        "warning": styles.warning,
        "failed": styles.failed,
    }[tone]


def duration_text(seconds: float) -> str:
    """Return a readable duration: 3.2 s, 48 s, 2 min 5 s, 1 h 12 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{seconds:.1f} s" if seconds < _TENTHS else f"{rest} s"


def running_time(seconds: float) -> str:
    """Return a running time in whole seconds."""
    return duration_text(max(0, int(seconds))).replace(".0", "")
