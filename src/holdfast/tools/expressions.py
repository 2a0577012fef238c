"""A regular expression that a model wrote, compiled, if that costs little.

`regex` writes a counted repeat out as often as it must match, nested ones multiplied: `(ab){1000000}` takes gigabytes
before there is anything that a timeout could end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.errors import ToolFailed
from holdfast.tools.output import one_line

if TYPE_CHECKING:
    import regex

LARGEST = 50_000
"""Pieces of an expression, repeats written out: a third of a second to compile."""

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d+)(?:,\d*)?\}|.", re.DOTALL)


def compiled(pattern: str, *, ignore_case: bool) -> regex.Pattern[str]:
    """Return the expression; raises `ToolFailed` if it is none, or too large."""
    import regex  # noqa: PLC0415 - 20 ms at import, needed only by a search

    if size(pattern) > LARGEST:
        msg = f"Pattern {one_line(pattern)!r} is too large: at most {LARGEST} pieces, repeats multiplied. Shorten it."
        raise ToolFailed(msg)
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        msg = (
            f"Pattern {pattern!r} is not a regular expression: {error}. "
            "Escape characters that are meant literally, and call it again."
        )
        raise ToolFailed(msg) from error


def size(pattern: str) -> int:
    """Return how many pieces an expression has when its counted repeats are written out."""
    groups = [0]
    last = 0  # the size of the piece that a repeat would count
    for piece in _PIECE.finditer(pattern):
        if piece["least"] is not None:
            groups[-1] += last * (int(piece["least"][:9]) - 1)
            last *= int(piece["least"][:9])
        elif piece[0] == "(":
            groups.append(0)
        elif piece[0] == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        else:
            last = 1
            groups[-1] += 1
    return max(sum(groups), len(pattern))
