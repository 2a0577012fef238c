"""The title of a session without a name: its first prompt, shortened. Pure.

The title is the first line with content: not a code fence, not a quotation mark alone. It is cut between words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TITLE_LENGTH = 80
"""Characters of a title."""

_LEAST = 20  # characters that a title keeps when it is cut between words
_EMPTY = re.compile(r"[\W_]*")
_MARK = re.compile(r"(?:[#>*-]+|\d+[.)])\s+")


def prompt_title(prompt: str) -> str:
    """Return a title for a session that began with this prompt, "" if it has no such line."""
    line = next(_title_lines(prompt), "")
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[: TITLE_LENGTH - 1]
    words = cut.rpartition(" ")[0].rstrip(" ,;:-")
    return f"{words if len(words) >= _LEAST else cut}…"


def _title_lines(prompt: str) -> Iterator[str]:
    """Yield the lines with a letter or a digit: text first, without heading and list marks, then code."""
    fenced = False
    code: list[str] = []
    for line in prompt.splitlines():
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif _EMPTY.fullmatch(line):
            pass
        elif fenced:
            code.append(" ".join(line.split()))
        else:
            yield " ".join(_MARK.sub("", line.strip(), count=1).split())
    yield from code
