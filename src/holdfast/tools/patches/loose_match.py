"""Finds the text that a model means when it does not occur exactly: in one place only, and saying what differed.

The ways are tried in turn (`WAYS`), the closest to what was written first: line numbers copied from `read`, escapes
written twice, white space at line ends, punctuation that looks alike, indentation shifted as a whole. A way counts only
if it finds one place: with two, or none, the next is no better and the model must say more.

Lines that the replacement keeps stay as the file has them, and the others get the indentation of the place, so that a
loose match changes nothing that was not asked for.

Laws (`tests/tools/patches/test_loose_match_laws.py`): what is found differs from what was written only in white space,
line numbers, escapes or punctuation, and everything outside the place stays byte for byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)
"""One character for one, so that places are the same before and after."""

_NUMBERED = re.compile(r"[ ]*\d+\t")
_ESCAPED = re.compile(r"\\([nt\"'`\\])")
_PLAIN = {"n": "\n", "t": "\t"}
_TRIED = 20  # places whose indentation is compared


class LooseMatch(msgspec.Struct, frozen=True, kw_only=True):
    """Characters `start` to `end` of a text are what was meant; `new` replaces them. `how` says what differed."""

    start: int
    end: int
    new: str
    how: str


Shift = Callable[[str], str | None]
"""The indentation that a line of the replacement gets, None if it is unknown."""


def alike(text: str) -> str:
    """Return the text with plain quotes, hyphens and spaces, character for character."""
    return text.translate(_ALIKE)


def find_loosely(text: str, old: str, new: str) -> LooseMatch | None:
    """Return the only place of `text` that `old` can mean, None if there is none or more than one."""
    if not old.strip():
        return None
    for way in WAYS:
        if (found := way(text, old, new)) is not None:
            return found
    return None


def _without_numbers(text: str, old: str, new: str) -> LooseMatch | None:
    lines = old.split("\n")
    if not all(_NUMBERED.match(line) for line in lines if line):
        return None
    plain = "\n".join(_NUMBERED.sub("", line, count=1) for line in lines)
    written = new.split("\n")
    if all(_NUMBERED.match(line) for line in written if line):
        new = "\n".join(_NUMBERED.sub("", line, count=1) for line in written)
    return _only(text, plain, new, "line numbers copied from read were left out")


def _unescaped(text: str, old: str, new: str) -> LooseMatch | None:
    if not _ESCAPED.search(old):
        return None
    return _only(text, _plain(old), _plain(new), "escapes such as \\n were written twice and read once")


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda found: _PLAIN.get(found[1], found[1]), text)


def _only(text: str, old: str, new: str, how: str) -> LooseMatch | None:
    at = text.find(old) if old.strip() else -1
    if at < 0 or text.find(old, at + 1) >= 0:
        return None
    return LooseMatch(start=at, end=at + len(old), new=new, how=how)


def _punctuation(text: str, old: str, new: str) -> LooseMatch | None:
    found = _only(alike(text), alike(old), new, "quotes, hyphens or spaces that look alike differed")
    if found is None:
        return None
    file_lines = _lines_of_file(old.split("\n"), text[found.start : found.end].split("\n"))
    return msgspec.structs.replace(found, new="\n".join(file_lines.get(line, line) for line in new.split("\n")))


def _line_ends(text: str, old: str, new: str) -> LooseMatch | None:
    return _by_lines(text, old, new, str.rstrip, _unshifted, "white space at line ends differed")


def _line_ends_alike(text: str, old: str, new: str) -> LooseMatch | None:
    how = "white space at line ends, and quotes, hyphens or spaces that look alike, differed"
    return _by_lines(text, old, new, lambda line: alike(line).rstrip(), _unshifted, how)


def _indented(text: str, old: str, new: str) -> LooseMatch | None:
    return _by_lines(
        text, old, new, lambda line: alike(line).strip(), indentation_shift, "indentation differed and was adapted"
    )


WAYS = (_without_numbers, _unescaped, _line_ends, _punctuation, _line_ends_alike, _indented)
"""The ways to read what was written, in the order in which they are tried."""


def _by_lines(
    text: str,
    old: str,
    new: str,
    key: Callable[[str], str],
    shift: Callable[[Sequence[tuple[str, str]]], Shift | None],
    how: str,
) -> LooseMatch | None:
    """Find `old` as whole lines that are equal by `key` and whose indentation differs by one `shift`."""
    lines = text.split("\n")
    sought = old.split("\n")
    ended = sought[-1] == ""
    if ended:  # the line end belongs to the text that is replaced
        sought.pop()
    places: list[tuple[int, Shift]] = []
    for first in _places([key(line) for line in lines], [key(line) for line in sought]):
        there = lines[first : first + len(sought)]
        moved = shift([(was, now) for was, now in zip(sought, there, strict=True) if was.strip()])
        if moved is not None:
            places.append((first, moved))
    if len(places) != 1:
        return None
    (first, moved), *_ = places
    there = lines[first : first + len(sought)]
    start = sum(len(line) + 1 for line in lines[:first])
    end = start + sum(len(line) + 1 for line in there) - 1
    last = first + len(sought) == len(lines)
    if ended and not last:
        end += 1
    replaced = _reindented(new, _lines_of_file(sought, [line.removesuffix("\r") for line in there]), moved)
    if replaced is None:
        return None
    if there[0].endswith("\r"):
        replaced = replaced.replace("\r\n", "\n").replace("\n", "\r\n")
        if not ended:
            end -= there[-1].endswith("\r")
    if ended and last:
        replaced = replaced.removesuffix("\n")
    return LooseMatch(start=start, end=end, new=replaced, how=how)


def _places(lines: Sequence[str], sought: Sequence[str]) -> list[int]:
    """Return the numbers of the lines, from 0, at which `sought` begins; one more than are tried at most."""
    text, target = "\n".join(["", *lines, ""]), "\n".join(["", *sought, ""])
    found: list[int] = []
    line, done = 0, 0
    at = text.find(target)
    while at >= 0 and len(found) <= _TRIED:
        line += text.count("\n", done, at)
        done = at
        found.append(line)
        at = text.find(target, at + 1)
    return found if len(found) <= _TRIED else []


def _lines_of_file(old: Sequence[str], there: Sequence[str]) -> dict[str, str]:
    """Return the lines of the file by the lines as written, without those that match two different ones."""
    lines: dict[str, str] = {}
    ambiguous: set[str] = set()
    for was, now in zip(old, there, strict=True):
        if lines.setdefault(was, now) != now:
            ambiguous.add(was)
    return {was: now for was, now in lines.items() if was not in ambiguous}


def _reindented(new: str, file_lines: dict[str, str], shift: Shift) -> str | None:
    lines: list[str] = []
    for line in new.split("\n"):
        if line in file_lines:
            lines.append(file_lines[line])
            continue
        bare = line.lstrip(" \t")
        indent = shift(line[: len(line) - len(bare)]) if bare.strip() else ""
        if indent is None:
            return None
        lines.append(indent + bare if bare.strip() else line)
    return "\n".join(lines)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())].replace("\u00a0", " ")


def indentation_shift(pairs: Sequence[tuple[str, str]]) -> Shift | None:
    """Return the one change of indentation that makes all pairs (as written, in the file) equal, if there is one."""
    indents = [(_indent(was), _indent(now)) for was, now in pairs]
    was, now = indents[0]
    candidates: list[Shift] = []
    if now.endswith(was):
        more = now.removesuffix(was)
        candidates.append(lambda indent: more + indent)
    if was.startswith(now):
        less = was[len(now) :]
        candidates.append(lambda indent: indent.removeprefix(less) if indent.startswith(less) else None)
    candidates += [_tabbed(unit) for unit in (4, 2, 8)]
    candidates += [_spaced(unit) for unit in (4, 2, 8)]
    if (levels := _levels(indents)) is not None:
        candidates.append(levels)
    return next((each for each in candidates if all(each(a) == b for a, b in indents)), None)


def _levels(indents: Sequence[tuple[str, str]]) -> Shift | None:
    """Return the shift that gives each level of indentation as written its level in the file.

    None if a level stands for two, or if the lines do not nest in the same way. A level that does not occur is as much
    deeper than the one below it as the steps that do occur are.
    """
    there = dict(indents)
    levels = sorted(there, key=len)
    steps = list(pairwise(levels))
    nests = all(
        deeper.startswith(level) and there[deeper].startswith(there[level]) and there[deeper] != there[level]
        for level, deeper in steps
    )
    if not steps or not nests or any(there[was] != now for was, now in indents):
        return None
    was, now = min(
        ((deeper[len(level) :], there[deeper][len(there[level]) :]) for level, deeper in steps),
        key=lambda step: len(step[0]),
    )

    def shift(indent: str) -> str | None:
        below = next((level for level in reversed(levels) if indent.startswith(level)), None)
        if below is None:
            return None
        times, rest = divmod(len(indent) - len(below), len(was))
        return there[below] + now * times if not rest and indent[len(below) :] == was * times else None

    return shift


def _unshifted(_: Sequence[tuple[str, str]]) -> Shift | None:
    return str


def _spaced(unit: int) -> Shift:
    return lambda indent: indent.replace("\t", " " * unit)


def _tabbed(unit: int) -> Shift:
    def shift(indent: str) -> str | None:
        return None if len(indent) % unit or indent.strip(" ") else "\t" * (len(indent) // unit)

    return shift
