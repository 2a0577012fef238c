"""Markdown as fragments: growing text is split where a block has certainly ended.

The fragments of a text do not depend on how it arrived. A fragment is never long: finished text is drawn once, and the
cost of growing text does not depend on the length of the answer.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from holdfast.ui.tui.render.code import draw_code
from holdfast.ui.tui.render.lines import DrawnLine, Fragment, clean, make_line
from holdfast.ui.tui.render.markdown_text import draw_prose
from holdfast.ui.tui.render.styles import Styles

PROSE = 100
"""Maximum columns of text: longer lines are hard to read."""

_LINES = 40  # maximum lines of code or table rows per fragment
_CODE = 24  # lines of code after which a fragment ends at the next empty line
_SIZE = 3_000  # maximum characters per fragment

_Kind = Literal["none", "text", "line", "item", "quote", "table", "fence", "closed"]

_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})\s*([^\s`]*)[^`]*$")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_RULE = re.compile(r" {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?=\s|$)")
_QUOTE = re.compile(r" {0,3}>")
_COLUMNS = re.compile(r" {0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")


class Prose(msgspec.Struct, frozen=True):
    """Markdown other than a code block; `above` is whether an empty line precedes it."""

    source: str
    above: bool
    headless: bool = False  # a continued table: its head is in `source` for parsing only

    def guess(self, width: int) -> int:
        """Return the approximate number of lines."""
        return self.above + self.source.count("\n") + 1 + len(self.source) // max(1, min(width, PROSE))

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its lines."""
        drawn = draw_prose(self.source, styles, min(width, PROSE), wide=width, headless=self.headless)
        return [*_empty(above=self.above), *drawn]


class Code(msgspec.Struct, frozen=True):
    """Some lines of a code block."""

    lines: tuple[str, ...]
    language: str
    above: bool

    def guess(self, width: int) -> int:
        """Return the approximate number of lines."""
        del width
        return self.above + len(self.lines)

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its lines."""
        return [*_empty(above=self.above), *draw_code(self.lines, self.language, styles, width)]


def _empty(*, above: bool) -> list[DrawnLine]:
    return [make_line(())] if above else []


class Markdown:
    """A growing text and its fragments."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0  # end of the processed text, always after a line end
        self._split = _Splitter()

    def fragments(self, text: str) -> list[Fragment]:
        """Return the fragments of `text`; the part that is the same as before is not processed again."""
        if not text.startswith(self._text):
            self._at, self._split = 0, _Splitter()
        self._text = text
        while end := self._line_end():
            # Control sequences never continue after a line end, so cleaning each line cleans everything.
            for plain in clean(text[self._at : end]).removesuffix("\n").split("\n"):
                self._split.take(plain)
            self._at = end
        rest = clean(text[self._at :])
        if not rest:
            return self._split.fragments()
        ahead = self._split.copy()
        for plain in rest.split("\n"):
            ahead.take(plain)
        return ahead.fragments()

    def _line_end(self) -> int:
        """Return the end of the next line, 0 if it is incomplete; a very long line is cut at the end of a fragment."""
        found = self._text.find("\n", self._at, self._at + _SIZE)
        if found >= 0:
            return found + 1
        if len(self._text) < self._at + _SIZE:
            return 0
        return self._text.rfind(" ", self._at + 1, self._at + _SIZE) + 1 or self._at + _SIZE


class _Splitter(msgspec.Struct):
    """The fragments so far, the lines of the incomplete one, and the kind of block that they are in."""

    done: list[Fragment] = msgspec.field(default_factory=list[Fragment])
    lines: list[str] = msgspec.field(default_factory=list[str])
    kind: _Kind = "none"
    above: bool = False  # whether an empty line comes before the fragment
    blank: bool = False  # whether the last line was empty
    fence: str = ""
    indent: int = 0  # of the fence, or of a list item's content
    language: str = ""
    head: tuple[str, ...] = ()  # the first two lines of a table that continues

    def copy(self) -> _Splitter:
        """Return an independent copy."""
        return msgspec.structs.replace(self, done=list(self.done), lines=list(self.lines))

    def fragments(self) -> list[Fragment]:
        """Return all fragments, the incomplete one as if it had ended."""
        return [*self.done, self._fragment()] if self.lines else list(self.done)

    def take(self, plain: str) -> None:
        """Add a line."""
        if self.kind == "fence":
            self._code(plain)
        elif not plain.strip():
            if self.kind == "item":
                self.lines.append("")
            self.blank = True
        elif not self._continues(plain):
            self._end()
            self._begin(plain)
        else:
            if self.kind == "text" and len(self.lines) == 1 and "|" in self.lines[0] and _COLUMNS.match(plain):
                self.kind = "table"
            if self._is_long(plain):
                self._end_fragment()
            self.lines.append(plain)
            self.blank = False

    def _begin(self, plain: str) -> None:
        """Start a block with its first line."""
        fence = _FENCE.match(plain)
        kind: _Kind = "text"
        if fence is not None:
            kind = "fence"
        elif _HEADING.match(plain) or _RULE.match(plain):
            kind = "line"
        elif _ITEM.match(plain):
            kind = "item"
        elif _QUOTE.match(plain):
            kind = "quote"
        separate = kind in ("fence", "line") or self.kind in ("closed", "table")
        self.above = bool(self.done) and (self.blank or separate)
        self.kind, self.blank = kind, False
        if fence is not None:
            self.indent, self.fence, self.language = len(fence[1]), fence[2], fence[3]
            return
        found = _ITEM.match(plain)
        self.indent = found.end() + 1 if found and kind == "item" else 0
        self.lines.append(plain)

    def _continues(self, plain: str) -> bool:
        """Return whether a nonempty line belongs to the block before it."""
        indent = len(plain) - len(plain.lstrip())
        begins_block = bool(_FENCE.match(plain) or _HEADING.match(plain) or _RULE.match(plain) or _ITEM.match(plain))
        match self.kind:
            case "item":
                nested = indent >= self.indent or (indent > 1 and begins_block)
                return nested or not (self.blank or begins_block or _QUOTE.match(plain))
            case "quote":
                return not self.blank and not begins_block
            case "text":
                return not (self.blank or begins_block or _QUOTE.match(plain))
            case "table":
                return not self.blank and "|" in plain
            case _:
                return False

    def _code(self, plain: str) -> None:
        bare = plain.strip()
        if len(bare) >= len(self.fence) and bare == self.fence[0] * len(bare):
            self._end()
            self.kind = "closed"
            return
        plain = plain[min(self.indent, len(plain) - len(plain.lstrip())) :]
        pauses = len(self.lines) >= _CODE and not self.lines[-1].strip() and plain[:1].strip()
        if pauses or self._is_long(plain):
            self._end_fragment()
        self.lines.append(plain)

    def _is_long(self, plain: str) -> bool:
        return len(self.lines) >= _LINES or sum(map(len, self.lines)) + len(plain) > _SIZE

    def _end_fragment(self) -> None:
        """End the fragment, but not the block."""
        head = tuple(self.lines[:2]) if self.kind == "table" and not self.head else self.head
        self.done.append(self._fragment())
        self.lines.clear()
        self.head, self.above = head, False

    def _end(self) -> None:
        if self.lines:
            self.done.append(self._fragment())
            self.lines.clear()
        self.head = ()

    def _fragment(self) -> Fragment:
        if self.kind == "fence":
            return Code(tuple(self.lines), self.language, self.above)
        return Prose("\n".join((*self.head, *self.lines)).rstrip(), self.above, headless=bool(self.head))
