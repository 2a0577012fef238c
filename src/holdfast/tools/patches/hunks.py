"""Applies the hunks of a patch to a text: each is found behind the one before, in four ways, the strictest first.

Laws (`tests/tools/patches/test_hunks_laws.py`): a patch made from two texts turns the first into the second, also where
white space at line ends was lost; lines that a hunk keeps stay byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tools.patches.loose_match import Shift, alike, indentation_shift
from holdfast.tools.patches.patch_text import Hunk

_WAYS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", lambda line: line.removesuffix("\r")),
    ("white space at line ends differed", str.rstrip),
    ("indentation differed", str.strip),
    ("quotes, hyphens or spaces that look alike differed", lambda line: alike(line).strip()),
)
_SHOWN = 3


class Patched(msgspec.Struct, frozen=True):
    """A text after all hunks, and what differed where they were found."""

    text: str
    notes: tuple[str, ...] = ()


def apply_hunks(text: str, hunks: Sequence[Hunk], name: str) -> Patched:
    """Return the text after the hunks; raises `ToolFailed` naming the first that does not fit."""
    ended = text.endswith("\n") or not text
    lines = text.removesuffix("\n").split("\n") if text else []
    file = _File(name, lines, [[way(line) for line in lines] for _, way in _WAYS])
    crlf = sum(line.endswith("\r") for line in lines) * 2 > len(lines)
    done: list[str] = []
    at, notes = 0, dict[str, None]()
    for number, hunk in enumerate(hunks, 1):
        found = file.find(hunk, at, number=number, of=len(hunks))
        done += lines[at : found.start]
        there = iter(lines[found.start : found.end])
        for sign, line in hunk.lines[: len(hunk.lines) - found.dropped]:
            if sign == "+":
                moved = found.shifted(line)
                done.append(f"{moved}\r" if crlf and not moved.endswith("\r") else moved)
                continue
            existing = next(there)
            if sign == " ":
                done.append(existing)
        at = found.end
        if found.how:
            notes[found.how] = None
    done += lines[at:]
    return Patched("\n".join(done) + ("\n" if ended and done else ""), tuple(notes))


class _Place(msgspec.Struct, frozen=True, kw_only=True):
    """Lines `start` to `end` are those of a hunk, without its last `dropped` ones, which the file does not have."""

    start: int
    end: int
    how: str = ""
    dropped: int = 0
    shift: Shift | None = None

    def shifted(self, line: str) -> str:
        """Return an added line with the indentation of the place."""
        bare = line.lstrip(" \t")
        indent = self.shift(line[: len(line) - len(bare)]) if self.shift and bare else None
        return line if indent is None else indent + bare


class _File(msgspec.Struct, frozen=True):
    """The lines of a file, and their keys for each way of comparing."""

    name: str
    lines: list[str]
    keys: list[list[str]]

    def find(self, hunk: Hunk, at: int, *, number: int, of: int) -> _Place:
        """Return where the hunk belongs, from line `at` on; raises `ToolFailed` if it belongs nowhere."""
        which = f"Hunk {number} of {of} for {self.name!r}" if of > 1 else f"The hunk for {self.name!r}"
        for header in hunk.headers:
            line = self._header(header, at)
            if line is None:
                msg = (
                    f"{which} was not found: no line behind line {at} contains {header[:80]!r}. "
                    "Nothing was written. Read the file again."
                )
                raise ToolFailed(msg)
            at = line + 1
        old = hunk.old
        if not old:  # only added lines
            end = at if hunk.headers and not hunk.at_end else len(self.lines)
            return _Place(start=end, end=end)
        dropped = 0
        place = self._search(old, at, at_end=hunk.at_end)
        if place is None and hunk.headers:  # the header itself may be among the lines
            place = self._search(old, at - 1, at_end=hunk.at_end)
        if place is None and not old[-1].strip() and hunk.lines[-1][0] == " " and len(old) > 1:
            dropped, place = 1, self._search(old[:-1], at, at_end=hunk.at_end)
        if place is None:
            raise ToolFailed(self._absent(which, old, at))
        return msgspec.structs.replace(place, dropped=dropped)

    def _header(self, header: str, at: int) -> int | None:
        for (_, way), keys in zip(_WAYS, self.keys, strict=True):
            key = way(header)
            for line in range(at, len(keys)):
                if keys[line] == key:
                    return line
        plain = alike(header).strip()
        return next((line for line in range(at, len(self.lines)) if plain in self.keys[-1][line]), None)

    def _search(self, old: Sequence[str], at: int, *, at_end: bool) -> _Place | None:
        for (how, way), keys in zip(_WAYS, self.keys, strict=True):
            sought = [way(line) for line in old]
            last = len(keys) - len(sought)
            starts = [last] if at_end and last >= at and keys[last:] == sought else []
            if not starts and (found := _first(keys, sought, at)) is not None:
                starts = [found]
            for start in starts:
                there = self.lines[start : start + len(sought)]
                pairs = [(was, now) for was, now in zip(old, there, strict=True) if was.strip()]
                shift = indentation_shift(pairs) if how and pairs else None
                return _Place(start=start, end=start + len(sought), how=how, shift=shift)
        return None

    def _absent(self, which: str, old: Sequence[str], at: int) -> str:
        shown = "\n".join(line[:120] for line in old[:_SHOWN])
        message = f"{which} was not found: these lines do not occur behind line {at}:\n{shown}\nNothing was written. "
        if (above := self._search(old, 0, at_end=False)) is not None:
            return f"{message}They are at line {above.start + 1}: give the hunks in the order of the file."
        longest = max(old, key=len).strip()
        near = [str(i + 1) for i, line in enumerate(self.keys[2]) if longest and line == longest][:_SHOWN]
        if near:
            return f"{message}The line {longest[:80]!r} is at line {', '.join(near)}. Read around it and try again."
        return f"{message}Read the file again."


def _first(keys: Sequence[str], sought: Sequence[str], at: int) -> int | None:
    """Return the first line from `at` on where `sought` begins, None if there is none."""
    text, part = "\n".join(["", *keys[at:], ""]), "\n".join(["", *sought, ""])
    found = text.find(part)
    return None if found < 0 else at + text.count("\n", 0, found)
