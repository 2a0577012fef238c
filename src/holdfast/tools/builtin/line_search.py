"""Finds the lines of a file that match, and shows them: the one search that decides, whichever way a file was found.

Lines are decoded and searched some hundred kilobytes at a time, and no more of a file is ever held.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import TYPE_CHECKING, Protocol

import msgspec

from holdfast.system.safe_paths import SafePath, open_regular
from holdfast.tools.builtin.byte_pattern import is_quick
from holdfast.tools.truncation import beginning
from holdfast.tools.workspace.file_kinds import holds_nul

if TYPE_CHECKING:
    import regex

LINE_SHOWN = 400
"""Characters of a line that are shown: the part around the match."""
LINE_SEARCHED = 1_000_000
"""Bytes of a line that are searched."""
OWN_SECONDS = 10.0
"""How long holdfast searches by itself before it says what was not searched."""

_LEAD = 100  # characters that are shown before a match in a long line
_LINE_SECONDS = 0.5
_QUICK_LINE = 2_000  # characters
_BLOCK = 262_144
_BOM = b"\xef\xbb\xbf"


class StopFlag(Protocol):
    """Something that says when to stop."""

    def is_set(self) -> bool:
        """Return whether to stop now."""
        ...


class SearchDeadline:
    """A flag that is set after so many seconds, or when another one is."""

    def __init__(self, seconds: float, stop: StopFlag | None = None) -> None:
        self._until = time.monotonic() + seconds
        self._stop = stop

    def is_set(self) -> bool:
        """Return whether the time is up, or the other flag is set."""
        return (self._stop is not None and self._stop.is_set()) or time.monotonic() >= self._until


class _Block(msgspec.Struct, frozen=True):
    """Some lines of a file, without their ends. `size` is that of a single one that was cut, in bytes, else 0."""

    first: int
    lines: list[str]
    size: int = 0


class Found(msgspec.Struct, frozen=True):
    """The matches of one file: how many, and what is shown of them."""

    count: int
    shown: list[str]


def holds_match(pattern: regex.Pattern[str], place: SafePath, stop: StopFlag) -> bool:
    """Return whether a line of a text file matches. It raises as `search_file` does."""
    matches = _matcher(pattern)
    with open_regular(place) as file:
        return not holds_nul(file) and any(next(matches(block), None) is not None for block in _blocks(file, stop))


def search_file(pattern: regex.Pattern[str], place: SafePath, *, context: int, most: int, stop: StopFlag) -> Found:
    """Return the first `most` matches of a text file with the lines around them; the count is at most one more.

    Raises `OSError`, `ToolFailed` for what is no regular file, and `TimeoutError` for a line that takes too long.
    """
    with open_regular(place) as file:
        if holds_nul(file):
            return Found(0, [])
        return _search_blocks(pattern, place.name, _blocks(file, stop), context=context, most=most)


def _matcher(pattern: regex.Pattern[str]) -> Callable[[_Block], Iterator[int]]:
    """Return what yields the numbers of the lines of a block that match.

    The timeout keeps other threads running, so a pattern that backtracks forever stops only itself. It costs ten times
    as much as a search in a usual line, so it is left out where a line cannot take long.
    """
    search, quick = pattern.search, is_quick(pattern.pattern)

    def matches(block: _Block) -> Iterator[int]:
        numbered = enumerate(block.lines, block.first)
        if quick and max(map(len, block.lines)) <= _QUICK_LINE:
            return (number for number, line in numbered if search(line))
        return (number for number, line in numbered if search(line, timeout=_LINE_SECONDS))

    return matches


def _search_blocks(
    pattern: regex.Pattern[str], name: str, blocks: Iterator[_Block], *, context: int, most: int
) -> Found:
    matches = _matcher(pattern)
    shown: list[str] = []
    count, until, last = 0, 0, -1  # matches, the last line that is shown, the one that was
    tail: list[str] = []  # the lines before the block
    for block in blocks:
        lines, first = block.lines, block.first
        hits: list[int] = []
        if count <= most:
            for number in matches(block):
                count += 1
                if count > most:
                    break
                hits.append(number)
        if hits or until >= first:
            window, begin = tail + lines, first - len(tail)
            matched = set(hits)
            near = {each for hit in hits for each in range(hit - context, hit + context + 1)}
            near.update(range(first, until + 1))
            for number in sorted(near):
                if number <= last or not begin <= number < begin + len(window):
                    continue
                if context and number != last + 1:
                    shown.append("--")
                mark = ":" if number in matched else "-"
                cut = block.size if number >= first else 0
                text = _shown(pattern, window[number - begin], cut, is_match=number in matched)
                shown.append(f"{name}{mark}{number}{mark}{text}")
                last = number
            until = max([until, *(hit + context for hit in hits)])
        if count > most and until < first + len(lines):
            break
        tail = (tail + lines)[-context:] if context else []
    return Found(count, shown)


def _shown(pattern: regex.Pattern[str], line: str, size: int, *, is_match: bool) -> str:
    """Return a line, or of a long one the part with the match; `size` is that of a longer line, in bytes."""
    if len(line) <= LINE_SHOWN and not size:
        return line
    found = pattern.search(line, timeout=_LINE_SECONDS) if is_match else None
    at = found.start() if found else 0
    begin = at - _LEAD if found and found.end() > LINE_SHOWN else 0
    begin = max(0, min(begin, len(line) - LINE_SHOWN))
    before = f"[{begin} characters cut ...] " if begin else ""
    return f"{before}{line[begin : begin + LINE_SHOWN]} [... line cut, {size or len(line.encode())} bytes in total]"


def _blocks(file: BufferedReader, stop: StopFlag) -> Iterator[_Block]:
    """Yield the lines of a file until `stop` is set."""
    number, rest = 1, b""
    while not stop.is_set():
        data = file.read(_BLOCK)
        block = rest + data
        end = block.rfind(b"\n") + 1 if data else len(block)
        if not block:
            return
        if end:
            rest = block[end:]
            lines = _lines(block[:end], is_first=number == 1)
            yield _Block(number, lines)
            number += len(lines)
        elif len(block) >= LINE_SEARCHED:
            size, rest = _skip_line(file, stop)
            yield _Block(
                number, _lines(beginning(block[:LINE_SEARCHED]).encode(), is_first=number == 1), len(block) + size
            )
            number += 1
        else:
            rest = block


def _skip_line(file: BufferedReader, stop: StopFlag) -> tuple[int, bytes]:
    """Read to the end of a line; return how many bytes that were, and those after it that were read."""
    size = 0
    while not stop.is_set() and (data := file.read(_BLOCK)):
        end = data.find(b"\n") + 1
        if end:
            return size + end, data[end:]
        size += len(data)
    return size, b""


def _lines(data: bytes, *, is_first: bool) -> list[str]:
    text = (data.removeprefix(_BOM) if is_first else data).decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").removesuffix("\r")
    return text.removesuffix("\n").split("\n")
