"""Markdown other than code blocks, drawn from the parser's tokens: headings, lists, quotes, tables, inline text.

A link's address is shown, so that the reader sees what a click would open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

from holdfast.ui.tui.render.code import draw_code
from holdfast.ui.tui.render.lines import DrawnLine, StyledRun, clean, fold_runs, make_line
from holdfast.ui.tui.render.markdown_table import Cell, draw_table
from holdfast.ui.tui.render.styles import Styles

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_STRONG = Style(bold=True)
_EMPHASIS = Style(italic=True)
_STRUCK = Style(strike=True)
_RULE = 40
_NARROWEST = 12
_DEEPEST = 40  # levels of lists and quotes, two for a list; deeper ones would have no room in a line
_LINKS = 100  # maximum brackets parsed as links: many unmatched ones are slow to parse


def draw_prose(source: str, styles: Styles, width: int, *, wide: int, headless: bool = False) -> list[DrawnLine]:
    """Return the lines of `source`: text folded to `width`, tables and code to `wide`.

    `headless` leaves out the head of a table.
    """
    page = _Page(styles, width, wide, headless)
    tokens = _parser(links=source.count("[") <= _LINKS).parse(source)
    if any(token.level >= _DEEPEST - 1 for token in tokens):  # the parser leaves out deeper levels
        page.as_written(source)
    else:
        page.draw(tokens)
    return page.lines


@lru_cache(maxsize=2)
def _parser(*, links: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # 30 ms, not before there is an answer

    # A line of text before `---` must not become a heading while it is being written.
    without = ["lheading", "reference"] if links else ["lheading", "reference", "link", "image"]
    options = {
        "html": False,
        "maxNesting": 150,
    }  # the parser leaves out deeper levels; its default of 20 is 10 levels of lists
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable(without)


class _Page(msgspec.Struct):
    """The lines so far, and the margins of the open lists and quotes."""

    styles: Styles
    width: int
    wide: int
    headless: bool
    lines: list[DrawnLine] = msgspec.field(default_factory=list[DrawnLine])
    margin: list[StyledRun] = msgspec.field(default_factory=list[StyledRun])
    marker: list[StyledRun] = msgspec.field(
        default_factory=list[StyledRun]
    )  # replaces the end of the margin, on the next line only
    numbers: list[int | None] = msgspec.field(default_factory=list[int | None])  # of the open lists
    fresh: bool = True  # whether the open block has no lines yet

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
                    self.margin.append(("▎ ", self.styles.faint))
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
                    self._line([("─" * min(_RULE, self._room()), self.styles.faint)])
                case "html_block":
                    self._gap()
                    self.as_written(token.content)
                case "table_open":
                    end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                    self._gap()
                    self._table(tokens[at:end])
                    at = end
                case _:
                    pass
            at += 1

    def as_written(self, text: str) -> None:
        """Add the lines of a text without interpreting it."""
        for line in text.rstrip("\n").split("\n"):
            self._fold([(line, self.styles.text)])

    def _text(self, token: Token, opening: Token) -> None:
        """Add a paragraph or a heading."""
        heading = opening.type == "heading_open"
        if not opening.hidden:
            self._gap()
        base = self.styles.heading if heading else self.styles.text
        for runs in _lines_of(token.children or (), self.styles, base):
            self._fold(runs)
        self.fresh = False

    def _item(self) -> None:
        number = self.numbers[-1]
        mark = "• " if number is None else f"{number}. "
        if number is not None:
            self.numbers[-1] = number + 1
        self.margin.append((" " * len(mark), self.styles.text))
        self.marker = [(mark, self.styles.dim)]
        self.fresh = True

    def _gap(self) -> None:
        """Add an empty line, unless this list item or quote has no lines yet."""
        if not self.fresh and self.lines:
            self._line([])
        self.fresh = False

    def _code(self, token: Token) -> None:
        code = draw_code(
            token.content.rstrip("\n").split("\n"), token.info.partition(" ")[0], self.styles, self._wide()
        )
        self._place(code)

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[Cell]] = []
        aligns: list[str] = []
        for before, token in pairwise(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                base = self.styles.name if before.type == "th_open" else self.styles.text
                if before.type == "th_open":
                    aligns.append(str(before.attrGet("style") or "").rpartition(":")[2])
                rows[-1].append([run for runs in _lines_of(token.children or (), self.styles, base) for run in runs])
        self._place(draw_table(rows, aligns, self.styles, self._wide(), headless=self.headless))

    def _place(self, drawn: Sequence[DrawnLine]) -> None:
        """Add drawn lines after the margin."""
        for line in drawn:
            first = make_line((), margin=self._first())
            strip = Strip.join([first.strip, line.strip])
            self.lines.append(DrawnLine(strip, line.margin + first.margin, line.join))

    def _fold(self, runs: Sequence[StyledRun]) -> None:
        marker = sum(len(text) for text, _ in self.marker)
        begun, *others = fold_runs(runs, self.width, first=self._first(), rest=self.margin)
        self.lines += [begun._replace(margin=begun.margin - marker), *others]  # a list's marker is text

    def _line(self, runs: Sequence[StyledRun]) -> None:
        self.lines.append(make_line(runs, margin=self._first()))

    def _first(self) -> list[StyledRun]:
        """Return the margin of the next line, with the marker if there is one."""
        first = [*self.margin[: len(self.margin) - len(self.marker)], *self.marker]
        self.marker = []
        return first

    def _room(self) -> int:
        return max(_NARROWEST, self.width - sum(cell_len(text) for text, _ in self.margin))

    def _wide(self) -> int:
        return max(_NARROWEST, self.wide - sum(cell_len(text) for text, _ in self.margin))


def _lines_of(tokens: Sequence[Token], styles: Styles, base: Style) -> Iterator[list[StyledRun]]:
    """Yield the lines of a paragraph, with the line breaks of its source."""
    runs: list[StyledRun] = []
    stack = [base]
    link: tuple[int, str] = (0, "")
    for token in tokens:
        match token.type:
            case "text" | "html_inline":
                runs.append((token.content, stack[-1]))
            case "code_inline":
                runs.append((token.content, stack[-1] + styles.code))
            case "softbreak" | "hardbreak":
                yield runs
                runs, link = [], (0, link[1])
            case "strong_open":
                stack.append(stack[-1] + _STRONG)
            case "em_open":
                stack.append(stack[-1] + _EMPHASIS)
            case "s_open":
                stack.append(stack[-1] + _STRUCK)
            case "link_open":
                stack.append(stack[-1] + styles.link)
                link = len(runs), _address(token, "href")
            case "link_close":
                stack.pop()
                label = "".join(text for text, _ in runs[link[0] :])
                if link[1] and link[1] not in (label, f"mailto:{label}"):
                    runs.append((f" ({link[1]})", styles.dim))
            case "image":
                runs.append((f"{token.content} ({_address(token, 'src')})", stack[-1] + styles.dim))
            case "strong_close" | "em_close" | "s_close":
                stack.pop()
            case _:
                pass
    yield runs


def _address(token: Token, name: str) -> str:
    return clean(str(token.attrGet(name) or "")).replace("\n", " ")
