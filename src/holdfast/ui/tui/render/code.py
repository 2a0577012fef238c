"""Syntax colouring, a few lines at a time, so that a growing code block costs no more than a finished one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.style import Style

from holdfast.ui.tui.render.lines import DrawnLine, StyledRun, fold_runs
from holdfast.ui.tui.render.styles import Styles

_LONGEST = 400  # characters; a longer line is data, and some lexers take quadratic time


def draw_code(lines: Sequence[str], language: str, look: Styles, width: int) -> list[DrawnLine]:
    """Return lines of code on their background, folded if too long."""
    return [
        drawn
        for runs in coloured("\n".join(lines), language, look)
        for drawn in _folded(tuple(runs), look.block, width)
    ]


@lru_cache(maxsize=128)
def _folded(runs: tuple[StyledRun, ...], block: Style, width: int) -> tuple[DrawnLine, ...]:
    """Return one line of code on its background, cached for redrawing a block that is still growing."""
    return tuple(
        folded._replace(strip=folded.strip.extend_cell_length(width, block))
        for folded in fold_runs(runs, width - 1, first=[(" ", block)], words=False)
    )


def coloured(text: str, language: str, look: Styles) -> Iterator[list[StyledRun]]:
    """Yield the lines of `text` (cleaned) as runs; an unknown language has one colour."""
    tokens = _tokens(text, language, look)
    runs: list[StyledRun] = []
    for style, value in tokens:
        head, *others = value.split("\n")
        runs.append((head, style))
        for other in others:
            yield runs
            runs = [(other, style)]
    yield runs


def _tokens(text: str, language: str, look: Styles) -> list[tuple[Style, str]]:
    lexer = look.lexers.lexer(language)
    if lexer is None or max(map(len, text.split("\n"))) > _LONGEST:
        return [(look.block, text)]
    ended = text + "\n"  # some lexers need a final newline
    tokens = [(_style(str(kind), look), value) for _, kind, value in lexer.get_tokens_unprocessed(ended)]
    if "".join(value for _, value in tokens) != ended:
        return [(look.block, text)]
    style, last = tokens[-1]
    return [*tokens[:-1], (style, last[:-1])]


@lru_cache(maxsize=1024)
def _style(kind: str, look: Styles) -> Style:
    """Return the style of a pygments token type, by the longest prefix of its name that has one."""
    styles = {
        "Token.Keyword": look.keyword,
        "Token.Operator.Word": look.keyword,
        "Token.Name.Tag": look.keyword,
        "Token.Literal.String": look.string,
        "Token.Literal.String.Doc": look.comment,
        "Token.Literal.Number": look.literal,
        "Token.Keyword.Constant": look.literal,
        "Token.Name.Function": look.function,
        "Token.Name.Class": look.function,
        "Token.Name.Decorator": look.function,
        "Token.Name.Builtin": look.function,
        "Token.Comment": look.comment,
        "Token.Generic.Inserted": look.added,
        "Token.Generic.Deleted": look.removed,
        "Token.Generic.Heading": look.comment,
        "Token.Generic.Subheading": look.comment,
        "Token.Generic.Prompt": look.comment,
        "Token.Generic.Output": look.comment,
    }
    while kind:
        if kind in styles:
            return styles[kind]
        kind = kind.rpartition(".")[0]
    return look.block
