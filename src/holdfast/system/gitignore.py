"""The rules of one `.gitignore` file, as pathspec reads them, in expressions that no name can make slow.

pathspec turns each line into a regular expression in which every wildcard tries every length. Ten wildcards on a line
and a matching name take practically forever, and `re` blocks all other threads. A wildcard followed by another of its
kind need not try again: whatever a longer match leaves, the next one would also find after a shorter one.

Laws (`tests/system/test_gitignore_laws.py`): the same files are ignored as by pathspec, and no name makes it
slow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_LONGEST_LINE = 8_192
"""Maximum characters of a line: twice those of the longest path. A longer one is skipped: it would compile slowly."""
_NAME = "[^/]*"  # pathspec's form of `*`
_ONE = "[^/]"  # of `?`
_LEADING, _FOLDERS = "(?:.+/)?", "(?:/.+)?"  # of `**` before a slash: at the beginning, and after one


def gitignore(text: str) -> GitIgnoreSpec:
    """Return the rules in `text`. An invalid line is skipped, as in git."""
    from pathspec import GitIgnoreSpec  # 40 ms at import, needed only by a search

    found = (_rule(line) for line in text.split("\n"))
    return GitIgnoreSpec([rule for rule in found if rule is not None], backend="simple")


def bounded(expression: str) -> str:
    """Return an equivalent of pathspec's expression that takes at most the square of its input's length."""
    lead = "^" if expression.startswith("^") else ""
    first, *more = expression.removeprefix(lead).split(_FOLDERS)
    if first.startswith(_LEADING):
        first, more = "", [first.removeprefix(_LEADING), *more]
        folders = [_LEADING, *[_FOLDERS] * (len(more) - 1)]
    else:
        folders = [_FOLDERS] * len(more)
    pieces = [_names(first)]
    for place, (wildcard, rest) in enumerate(zip(folders, more, strict=True), 1):
        lazy = wildcard.replace("+", "+?") + "?"
        pieces.append(f"{wildcard}{_names(rest)}" if place == len(more) else f"(?>{lazy}{_names(rest)}(?=/))")
    return lead + "".join(pieces)


def _names(expression: str) -> str:
    """Return an expression without `**` in which consecutive `*` within a name try each length once."""
    first, *more = re.sub(r"(?:\[\^/\]\*)+", _NAME.replace("\\", r"\\"), expression).split(_NAME)
    pieces = [first]
    for place, rest in enumerate(more, 1):
        again = place < len(more) and "/" not in rest.replace(_ONE, "")
        pieces.append(f"(?>{_NAME}?{rest})" if again else f"{_NAME}{rest}")
    return "".join(pieces)


def _rule(line: str) -> GitIgnoreSpecPattern | None:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    if len(line) > _LONGEST_LINE:
        return None
    try:
        expression, include = GitIgnoreSpecPattern.pattern_to_regex(line)
    except ValueError:
        return None
    return None if expression is None else GitIgnoreSpecPattern(re.compile(bounded(expression)), include)
