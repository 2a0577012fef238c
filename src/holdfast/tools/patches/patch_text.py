"""Parses the patches that GPT models are trained to write: several files, each with hunks found by their lines.

*** Begin Patch
*** Add File: PATH            then lines with +
*** Delete File: PATH
*** Update File: PATH         then *** Move to: PATH, if it is moved, and hunks
@@ class A                    a line to find first; several of them nest
context, -removed, +added
*** End of File               the hunk ends where the file ends
*** End Patch
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from holdfast.errors import ToolFailed

Sign = Literal[" ", "-", "+"]

_BEGIN, _END, _EOF = "*** Begin Patch", "*** End Patch", "*** End of File"
_FILE = re.compile(r"\*\*\* (Add|Delete|Update) File:[ ]*(.*)")
_MOVE = re.compile(r"\*\*\* Move to:[ ]*(.*)")
_RANGES = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)? @@ ?(.*)")
_FORM = 'Nothing was done; call it again with "*** Begin Patch", "*** Update File: PATH" and so on.'


class Hunk(msgspec.Struct, frozen=True):
    """One change of a file: `headers` are lines to find first, `lines` what is kept, removed and added."""

    headers: tuple[str, ...] = ()
    lines: tuple[tuple[Sign, str], ...] = ()
    at_end: bool = False

    @property
    def old(self) -> tuple[str, ...]:
        """Return the lines that must be in the file."""
        return tuple(text for sign, text in self.lines if sign != "+")


class FilePatch(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one file: `content` for a new one, `hunks` and perhaps a new path `to` for an update."""

    kind: Literal["add", "delete", "update"]
    path: str
    to: str = ""
    content: str = ""
    hunks: tuple[Hunk, ...] = ()


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Return the files of a patch; raises `ToolFailed` naming the line that does not fit. Linear."""
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip() == _BEGIN), None)
    last = next((i for i in range(len(lines) - 1, -1, -1) if lines[i].strip() == _END), None)
    if first is None or last is None or last < first:
        missing = _BEGIN if first is None else _END
        raise ToolFailed(f"Patch is incomplete: it has no line {missing!r}. {_FORM}")
    reader = _Reader(lines[first + 1 : last], begins=first + 2)
    files: list[FilePatch] = []
    while not reader.done:
        files.append(reader.file())
    if not files:
        raise ToolFailed(f"Patch is empty: it names no file. {_FORM}")
    return tuple(files)


class _Reader:
    """The lines of a patch, taken one by one."""

    def __init__(self, lines: list[str], *, begins: int) -> None:
        self._lines = lines
        self._at = 0
        self._begins = begins
        self._skip_blank()

    @property
    def done(self) -> bool:
        return self._at >= len(self._lines)

    def _skip_blank(self) -> None:
        while not self.done and not self._lines[self._at].strip():
            self._at += 1

    def _wrong(self, expected: str) -> ToolFailed:
        shown = self._lines[self._at][:80] if not self.done else "the end"
        return ToolFailed(f"Patch line {self._begins + self._at} is {shown!r} (expected {expected}). {_FORM}")

    def _next_is_file(self) -> bool:
        return self.done or _FILE.match(self._lines[self._at].strip()) is not None

    def file(self) -> FilePatch:
        """Return the next file."""
        found = _FILE.match(self._lines[self._at].strip())
        if found is None or not found[2].strip():
            raise self._wrong('"*** Add File: PATH", "*** Update File: PATH" or "*** Delete File: PATH"')
        path = found[2].strip()
        self._at += 1
        match found[1]:
            case "Add":
                patch = FilePatch(kind="add", path=path, content=self._added())
            case "Delete":
                self._skip_blank()
                patch = FilePatch(kind="delete", path=path)
            case _:
                patch = self._update(path)
        if not self._next_is_file():
            raise self._wrong("a line of a hunk, or the next file")
        return patch

    def _added(self) -> str:
        added: list[str] = []
        while not self._next_is_file():
            line = self._lines[self._at]
            if not line.startswith("+"):
                if not line.strip() and self._blank_to_the_next_file():
                    break
                raise self._wrong("a line that begins with +, as all of a new file do")
            added.append(f"{line[1:]}\n")
            self._at += 1
        return "".join(added)

    def _blank_to_the_next_file(self) -> bool:
        here = self._at
        self._skip_blank()
        if self._next_is_file():
            return True
        self._at = here
        return False

    def _update(self, path: str) -> FilePatch:
        to = ""
        if not self.done and (moved := _MOVE.match(self._lines[self._at].strip())):
            to = moved[1].strip()
            self._at += 1
        hunks: list[Hunk] = []
        while not self._next_is_file() and not self._blank_to_the_next_file():
            hunks.append(self._hunk())
        if not hunks and not to:
            raise self._wrong("a hunk that begins with @@")
        return FilePatch(kind="update", path=path, to=to, hunks=tuple(hunks))

    def _hunk(self) -> Hunk:
        headers: list[str] = []
        while not self.done and self._lines[self._at].startswith("@@"):
            header = self._lines[self._at][2:].strip()
            ranges = _RANGES.fullmatch(header)  # a unified diff's: the numbers are not looked at
            header = ranges[1] if ranges else header.removesuffix("@@").strip()
            headers += [header] if header else []
            self._at += 1
        lines: list[tuple[Sign, str]] = []
        at_end = False
        while not self._next_is_file():
            line = self._lines[self._at]
            if line.startswith("@@"):
                break
            if line.strip() == _EOF:
                at_end = True
                self._at += 1
                break
            if line[:1] not in (" ", "-", "+", ""):
                raise self._wrong("a line that begins with a space, - or +")
            if not line and self._blank_to_the_next_file():
                break
            sign: Sign = "-" if line[:1] == "-" else "+" if line[:1] == "+" else " "
            lines.append((sign, line[1:]))
            self._at += 1
        if not any(sign != " " for sign, _ in lines):
            raise self._wrong("a hunk with a line that begins with - or +")
        return Hunk(tuple(headers), tuple(lines), at_end)
