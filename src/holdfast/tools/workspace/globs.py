"""Path patterns: `*`, `?` and `[ab]` within a name, `**` for folders, `{a,b}`. Pure.

A match takes at most as many steps as names in the path times names in the pattern.

Laws (`tests/tools/workspace/test_globs_laws.py`): a pattern matches what its definition says, and in that many steps.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tools.truncation import escape_newlines

LONGEST_PATTERN = 4096
"""Characters of a pattern; no path is longer."""

_ALTERNATIVES = 1000  # of a pattern with braces, which multiply
_BRACES = 100  # of a pattern: each is a turn for each alternative

_Name = Callable[[str], object]


class Glob(msgspec.Struct, frozen=True):
    """One alternative of a pattern. Each name is a test, or None for `**`."""

    text: str
    names: tuple[_Name | None, ...]

    @property
    def deep(self) -> bool:
        """Return whether it contains `**`."""
        return None in self.names

    def matches(self, parts: Sequence[str]) -> bool:
        """Return whether a path, split at slashes, matches; `**` is any number of folders."""
        names = self.names
        at = done = 0  # index in the pattern, index in the path
        after, again = 0, 0  # the name after the last `**`, and how much of the path that has consumed
        while done < len(parts):
            if at < len(names) and names[at] is None:
                at += 1
                after, again = at, done
            elif at < len(names) and (fits := names[at]) is not None and fits(parts[done]):
                at, done = at + 1, done + 1
            elif after:  # an earlier `**` cannot match more than this one can
                again += 1
                at, done = after, again
            else:
                return False
        return all(name is None for name in names[at:])


def matches_any(patterns: Iterable[Glob], parts: Sequence[str], stop: threading.Event) -> bool:
    """Return whether one of the patterns matches the path; False once `stop` is set."""
    return any(not stop.is_set() and pattern.matches(parts) for pattern in patterns)


def matching_names(patterns: Sequence[Glob], folder: str, names: Sequence[str], stop: threading.Event) -> Sequence[str]:
    """Return those of the names in a folder ("" for the start) whose paths match one of the patterns. Fast for many."""
    tests = [pattern.names[1] for pattern in patterns if len(pattern.names) == 2 and pattern.names[0] is None]  # noqa: PLR2004 - `**` and a name
    if any(pattern.text in ("**", "**/*") for pattern in patterns):
        return names
    if len(tests) == len(patterns) == 1 and (fits := tests[0]) is not None:
        return [name for name in names if fits(name)]
    parts = folder.split("/") if folder else []
    return [name for name in names if matches_any(patterns, [*parts, name], stop)]


def globs(pattern: str, *, anywhere: bool = False) -> tuple[Glob, ...]:
    """Return the alternatives of a pattern; raises `ToolFailed` if it is too long or has too many.

    With `anywhere`, an alternative without a slash matches a name in any folder.
    """
    return tuple(_glob(f"**/{each}" if anywhere and "/" not in each else each) for each in alternatives(pattern))


def alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern as texts; raises `ToolFailed` if it is too long or has too many."""
    if len(pattern) > LONGEST_PATTERN:
        raise ToolFailed(
            f"Pattern {escape_newlines(pattern)!r} is too long (at most {LONGEST_PATTERN} characters). Shorten it."
        )
    if pattern.count("{") > _BRACES:
        raise ToolFailed(f"Pattern {escape_newlines(pattern)!r} has more than {_BRACES} braces. Split it.")
    found: list[str] = []
    waiting = [pattern]  # the first is the last
    while waiting:
        head, opening, rest = waiting.pop().partition("{")
        choices, closing, tail = rest.partition("}")
        if opening and closing:
            waiting += [f"{head}{choice}{tail}" for choice in reversed(choices.split(",")[: _ALTERNATIVES + 1])]
        else:
            found.append(head + opening + rest)
        if len(found) + len(waiting) > _ALTERNATIVES:
            raise ToolFailed(
                f"Pattern {escape_newlines(pattern)!r} has more than {_ALTERNATIVES} alternatives. Split it."
            )
    return found


def _glob(text: str) -> Glob:
    return Glob(text, tuple(None if name == "**" else re.compile(translate(name)).match for name in text.split("/")))
