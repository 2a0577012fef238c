"""Markdown that is no code block, drawn from the parser's tokens: headings, lists, quotes, tables, and what is in them.

One rule: an address is shown as it is, so that what one would open is what one sees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from holdfast.ui.tui.code import draw_code
from holdfast.ui.tui.lines import Line, Run, clean, fold, line
from holdfast.ui.tui.look import Look
from holdfast.ui.tui.table import Cell, draw_table

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_STRONG = Style(bold=True)
_EMPHASIS = Style(italic=True)
_STRUCK = Style(strike=True)
_RULE = 40
_NARROWEST = 12
_LINKS = 100  # brackets up to which they are read as links: many that are none take the parser long


def draw_prose(source: str, look: Look, width: int, *, wide: int, headless: bool = False) -> list[Line]:
    """Return the lines of `source`: text folded to `width`, tables and code to `wide`.

    `headless` leaves out the head of a table.
    """
    page = _Page(look, width, wide, headless)
    page.draw(_parser(links=source.count("[") <= _LINKS).parse(source))
    return page.lines


@lru_cache(maxsize=2)
def _parser(*, links: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 30 ms, not before there is an answer

    # A line of text that `---` follows is none that becomes a heading while it is written.
    without = ["lheading", "reference"] if links else ["lheading", "reference", "link", "image"]
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(without)


@dataclass(slots=True)
class _Page:
    """Lines as they are drawn, and the margins of the lists and quotes that are open."""

    look: Look
    width: int
    wide: int
    headless: bool
    lines: list[Line] = field(default_factory=list[Line])
    margin: list[Run] = field(default_factory=list[Run])
    marker: list[Run] = field(default_factory=list[Run])  # in place of the end of the margin, on the next line only
    numbers: list[int | None] = field(default_factory=list[int | None])  # of the lists that are open
    fresh: bool = True  # whether nothing stands above in the block that is open

    def draw(self, tokens: Sequence[Token]) -> None:
        """Add the lines of these tokens."""
        at = 0
        while at < len(tokens):
            token = tokens[at]
            match token.type:
                case "inline":
                    self._text(token, tokens[at - 1])
                case "bullet_list_open":
                    self.numbers.append(None)
                case "ordered_list_open":
                    self.numbers.append(int(token.attrGet("start") or 1))
                case "bullet_list_close" | "ordered_list_close":
                    self.numbers.pop()
                case "list_item_open":
                    self._item()
                case "blockquote_open":
                    self._gap()
                    self.margin.append(("▎ ", self.look.faint))
                    self.fresh = True
                case "list_item_close" | "blockquote_close":
                    self.margin.pop()
                    self.marker = []
                    self.fresh = False
                case "fence" | "code_block":
                    self._gap()
                    self._code(token)
                case "hr":
                    self._gap()
                    self._line([("─" * min(_RULE, self._room()), self.look.faint)])
                case "html_block":
                    self._gap()
                    for plain in token.content.rstrip("\n").split("\n"):
                        self._fold([(plain, self.look.text)])
                case "table_open":
                    end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                    self._gap()
                    self._table(tokens[at:end])
                    at = end
                case _:
                    pass
            at += 1

    def _text(self, token: Token, opening: Token) -> None:
        """Add a paragraph or a heading."""
        heading = opening.type == "heading_open"
        if not opening.hidden:
            self._gap()
        base = self.look.heading if heading else self.look.text
        for runs in _lines_of(token.children or (), self.look, base):
            self._fold(runs)
        self.fresh = False

    def _item(self) -> None:
        number = self.numbers[-1]
        mark = "• " if number is None else f"{number}. "
        if number is not None:
            self.numbers[-1] = number + 1
        self.margin.append((" " * len(mark), self.look.text))
        self.marker = [(mark, self.look.dim)]
        self.fresh = True

    def _gap(self) -> None:
        """Add an empty line, unless nothing stands above in this list item or quote."""
        if not self.fresh and self.lines:
            self._line([])
        self.fresh = False

    def _code(self, token: Token) -> None:
        code = draw_code(token.content.rstrip("\n").split("\n"), token.info.partition(" ")[0], self.look, self._wide())
        self._place(code)

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[Cell]] = []
        aligns: list[str] = []
        for before, token in pairwise(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                base = self.look.name if before.type == "th_open" else self.look.text
                if before.type == "th_open":
                    aligns.append(str(before.attrGet("style") or "").rpartition(":")[2])
                rows[-1].append([run for runs in _lines_of(token.children or (), self.look, base) for run in runs])
        self._place(draw_table(rows, aligns, self.look, self._wide(), headless=self.headless))

    def _place(self, drawn: Sequence[Line]) -> None:
        """Add lines that are drawn already, after the margin."""
        for one in drawn:
            first = line((), margin=self._first())
            strip = Strip.join([first.strip, one.strip])
            self.lines.append(Line(strip, one.margin + first.margin, one.join))

    def _fold(self, runs: Sequence[Run]) -> None:
        marker = sum(len(text) for text, _ in self.marker)
        begun, *others = fold(runs, self.width, first=self._first(), rest=self.margin)
        self.lines += [begun._replace(margin=begun.margin - marker), *others]  # a list's marker is text

    def _line(self, runs: Sequence[Run]) -> None:
        self.lines.append(line(runs, margin=self._first()))

    def _first(self) -> list[Run]:
        """Return the margin of the next line, with the marker if there is one."""
        first = [*self.margin[: len(self.margin) - len(self.marker)], *self.marker]
        self.marker = []
        return first

    def _room(self) -> int:
        return max(_NARROWEST, self.width - sum(cell_len(text) for text, _ in self.margin))

    def _wide(self) -> int:
        return max(_NARROWEST, self.wide - sum(cell_len(text) for text, _ in self.margin))


def _lines_of(tokens: Sequence[Token], look: Look, base: Style) -> Iterator[list[Run]]:
    """Yield the lines of a paragraph, as its writer broke them."""
    runs: list[Run] = []
    styles = [base]
    link: tuple[int, str] = (0, "")
    for token in tokens:
        match token.type:
            case "text" | "html_inline":
                runs.append((token.content, styles[-1]))
            case "code_inline":
                runs.append((token.content, styles[-1] + look.code))
            case "softbreak" | "hardbreak":
                yield runs
                runs, link = [], (0, link[1])
            case "strong_open":
                styles.append(styles[-1] + _STRONG)
            case "em_open":
                styles.append(styles[-1] + _EMPHASIS)
            case "s_open":
                styles.append(styles[-1] + _STRUCK)
            case "link_open":
                styles.append(styles[-1] + look.link)
                link = len(runs), _address(token, "href")
            case "link_close":
                styles.pop()
                said = "".join(text for text, _ in runs[link[0] :])
                if link[1] and link[1] not in (said, f"mailto:{said}"):
                    runs.append((f" ({link[1]})", look.dim))
            case "image":
                runs.append((f"{token.content} ({_address(token, 'src')})", styles[-1] + look.dim))
            case "strong_close" | "em_close" | "s_close":
                styles.pop()
            case _:
                pass
    yield runs


def _address(token: Token, name: str) -> str:
    return clean(str(token.attrGet(name) or "")).replace("\n", " ")
