"""Compiles a regular expression from a model, if that is cheap.

`regex` expands counted repeats, nested ones multiplied: `(ab){1000000}` takes gigabytes before any timeout applies.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from holdfast.errors import ToolFailed
from holdfast.tools.truncation import escape_newlines

if TYPE_CHECKING:
    import regex

LARGEST = 50_000
"""Elements of an expression with repeats expanded; this many compile in a third of a second."""

_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(?P<least>\d+)(?:,\d*)?\}|.", re.DOTALL)


def compile_pattern(pattern: str, *, ignore_case: bool) -> regex.Pattern[str]:
    """Return the compiled expression; raises `ToolFailed` if it is invalid or too large."""
    import regex  # 20 ms at import, needed only by a search

    if expanded_size(pattern) > LARGEST:
        shown = escape_newlines(pattern)
        msg = f"Pattern {shown!r} is too large (at most {LARGEST} pieces, repeats multiplied). Shorten it."
        raise ToolFailed(msg)
    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        msg = (
            f"Pattern {pattern!r} is not a regular expression: {error}. "
            "Escape characters that are meant literally, and call it again."
        )
        raise ToolFailed(msg) from error


_OTHER_SETS = re.compile(r"\[|&&|--|~~")
_OTHER_FLAGS = re.compile(r"\(\?[a-zA-Z]*[-uULxaV]")


def means_the_same_to_ripgrep(pattern: str) -> bool:
    """Return whether ripgrep reads a valid expression as `regex` does.

    ripgrep reads `[a[b]]`, `[a&&b]`, `[a--b]` and `[[:alpha:]]` as other sets, `a++` as two repeats and `{1, 2}` as
    one, and matches the end of the text at each line end.
    """
    repeated = False
    for piece in _PIECE.finditer(pattern):
        text, repeats = piece[0], piece["least"] is not None
        if text[0] == "[" and _OTHER_SETS.search(re.sub(r"\\.", "", text[1:], flags=re.DOTALL)):
            return False
        if text in ("{", "\\z", "\\Z") or (text == "+" and repeated):
            return False
        repeated = repeats or text in ("*", "+", "?")
    return _OTHER_FLAGS.search(pattern) is None


def expanded_size(pattern: str) -> int:
    """Return the number of elements of an expression with its counted repeats expanded."""
    groups = [0]
    last = 0  # the size of the element a repeat would apply to
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
