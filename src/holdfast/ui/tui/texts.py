"""Plain text as pieces: lines in one tone, of many only some, with a sentence that says how many more there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.style import Style

from holdfast.ui.tui.lines import Line, Piece, clean, crop, fold, line
from holdfast.ui.tui.look import Look

OPENED = 2_000
"""Lines shown of anything that is opened."""

PIECE = 25
"""Lines drawn together."""

LONGEST = 2_000
"""Characters shown of a line that is no answer."""

_TENTHS = 10  # seconds up to which tenths of them are told

Tone = Literal["text", "dim", "faint", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of plain text in one tone, each folded if `whole`, else cut to one; `mark` hangs before the first."""

    lines: tuple[str, ...]
    tone: Tone
    whole: bool = True
    mark: tuple[str, Tone] | None = None
    above: bool = False

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        long = sum(len(text) for text in self.lines) // max(1, width) if self.whole else 0
        return self.above + len(self.lines) + long

    def draw(self, look: Look, width: int) -> list[Line]:
        """Return its lines."""
        style = toned(self.tone, look)
        drawn = [line(())] if self.above else []
        for text in self.lines:
            drawn += fold([(text, style)], width) if self.whole else [line(crop([(text, style)], width))]
        if self.mark is not None and drawn:
            at = int(self.above)
            drawn[at] = drawn[at]._replace(mark=(self.mark[0], toned(self.mark[1], look)))
        return drawn


def opened_text(text: str, tone: Tone, *, above: bool = False) -> list[Piece]:
    """Return a long text as pieces, up to where a sentence says how much more there is."""
    lines = split_lines(text)
    most = lines[:OPENED]
    some = [Text(most[at : at + PIECE], tone, above=above and not at) for at in range(0, len(most), PIECE)]
    return [*some, *rest(len(lines) - OPENED)]


def short_text(lines: Sequence[str]) -> list[Piece]:
    """Return lines, each cut to one."""
    return [Text(tuple(lines), "dim", whole=False)] if lines else []


def rest(count: int, where: Literal["more", "above"] = "more") -> list[Piece]:
    """Return the sentence that says how many lines are not shown, if any are not."""
    if count <= 0:
        return []
    lines = "line" if count == 1 else "lines"
    return [Text((f"… {count:,} more {lines}" if where == "more" else f"… {count:,} {lines} above",), "faint")]


def split_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text as they may be shown, none of one that says nothing."""
    if not text.strip():
        return ()
    return tuple(
        plain if len(plain) <= LONGEST else f"{plain[:LONGEST]} [… {len(plain) - LONGEST:,} more characters]"
        for plain in clean(text.rstrip("\n")).split("\n")
    )


def toned(tone: Tone, look: Look) -> Style:
    """Return the style of a tone."""
    return {
        "text": look.text,
        "dim": look.dim,
        "faint": look.faint,
        "warning": look.warning,
        "failed": look.failed,
    }[tone]


def duration(seconds: float) -> str:
    """Return a time as a person would say it: 3.2 s, 48 s, 2 min 5 s, 1 h 12 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{seconds:.1f} s" if seconds < _TENTHS else f"{rest} s"


def ticking(seconds: float) -> str:
    """Return a time that goes on, in whole seconds."""
    return duration(max(0, int(seconds))).replace(".0", "")
