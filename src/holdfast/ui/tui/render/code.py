"""Syntax colouring, a few lines at a time, so that a growing code block costs no more than a finished one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.style import Style

from holdfast.ui.tui.render.lines import DrawnLine, StyledRun, fold_runs
from holdfast.ui.tui.render.styles import Styles

_LONGEST = 400  # characters; a longer line is data, and some lexers take quadratic time


def draw_code(lines: Sequence[str], language: str, styles: Styles, width: int) -> list[DrawnLine]:
    """Return lines of code on their background, folded if too long."""
    return [
        drawn
        for runs in coloured_lines("\n".join(lines), language, styles)
        for drawn in _folded(tuple(runs), styles.block, width)
    ]


@lru_cache(maxsize=128)
def _folded(runs: tuple[StyledRun, ...], block: Style, width: int) -> tuple[DrawnLine, ...]:
    """Return one line of code on its background; cached, because a growing block is redrawn."""
    return tuple(
        folded._replace(strip=folded.strip.extend_cell_length(width, block))
        for folded in fold_runs(runs, width - 1, first=[(" ", block)], words=False)
    )


def coloured_lines(text: str, language: str, styles: Styles) -> Iterator[list[StyledRun]]:
    """Yield the lines of `text` (cleaned) as runs; an unknown language has one colour."""
    tokens = _tokens(text, language, styles)
    runs: list[StyledRun] = []
    for style, value in tokens:
        head, *others = value.split("\n")
        runs.append((head, style))
        for other in others:
            yield runs
            runs = [(other, style)]
    yield runs


def _tokens(text: str, language: str, styles: Styles) -> list[tuple[Style, str]]:
    lexer = styles.lexers.lexer(language)
    if lexer is None or max(map(len, text.split("\n"))) > _LONGEST:
        return [(styles.block, text)]
    ended = text + "\n"  # some lexers need a final newline
    tokens = [(_style(str(kind), styles), value) for _, kind, value in lexer.get_tokens_unprocessed(ended)]
    if "".join(value for _, value in tokens) != ended:
        return [(styles.block, text)]
    style, last = tokens[-1]
    return [*tokens[:-1], (style, last[:-1])]


@lru_cache(maxsize=1024)
def _style(kind: str, styles: Styles) -> Style:
    """Return the style of a pygments token type, by the longest prefix of its name that has one."""
    by_token = {
        "Token.Keyword": styles.keyword,
        "Token.Operator.Word": styles.keyword,
        "Token.Name.Tag": styles.keyword,
        "Token.Literal.String": styles.string,
        "Token.Literal.String.Doc": styles.comment,
        "Token.Literal.Number": styles.literal,
        "Token.Keyword.Constant": styles.literal,
        "Token.Name.Function": styles.function,
        "Token.Name.Class": styles.function,
        "Token.Name.Decorator": styles.function,
        "Token.Name.Builtin": styles.function,
        "Token.Comment": styles.comment,
        "Token.Generic.Inserted": styles.added,
        "Token.Generic.Deleted": styles.removed,
        "Token.Generic.Heading": styles.comment,
        "Token.Generic.Subheading": styles.comment,
        "Token.Generic.Prompt": styles.comment,
        "Token.Generic.Output": styles.comment,
    }
    while kind:
        if kind in by_token:
            return by_token[kind]
        kind = kind.rpartition(".")[0]
    return styles.block
