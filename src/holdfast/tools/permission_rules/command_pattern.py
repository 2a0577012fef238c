"""Commands in rules: text in which `*` stands for any characters.

`npm run test *` matches the command alone and with any arguments, but not `npm run tests`: at the end, the blank before
the `*` is the end of a word. `npm run test:*` is another way to write it. Without a `*` the rule is the whole command.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WILDCARD = "*"


def command_matches(specifier: str, text: str) -> bool:
    """Return whether a rule's command means the simple command `text`, its words separated by one blank."""
    return _expression(specifier).fullmatch(text) is not None


@lru_cache(maxsize=512)
def _expression(specifier: str) -> re.Pattern[str]:
    if specifier.endswith(":*"):
        specifier = f"{specifier[:-2]} *"
    pieces = [re.sub(r"\\([*\\])", r"\1", piece) for piece in re.split(r"(?<!\\)\*+", specifier)]
    if len(pieces) == 2 and pieces[0].endswith(" ") and not pieces[1]:  # noqa: PLR2004 - one `*`, at the end
        return re.compile(f"{re.escape(pieces[0][:-1])}(?: .*)?", re.DOTALL)
    # Each `*` but the last takes as little as it can and never tries again: no text makes the match slow.
    first, *more = (re.escape(piece) for piece in pieces)
    if not more:
        return re.compile(first, re.DOTALL)
    *inner, last = more
    return re.compile("".join((first, *(f"(?>.*?{piece})" for piece in inner), f".*{last}")), re.DOTALL)
