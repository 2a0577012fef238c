"""Code in colours: a few lines at a time, so that what is still being written costs no more than what stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.style import Style

from holdfast.ui.tui.lines import Line, Run, fold
from holdfast.ui.tui.look import Look

_LONGEST = 400  # characters of a line that is coloured: a longer one is data, and takes some lexers its square in time


def draw_code(lines: Sequence[str], language: str, look: Look, width: int) -> list[Line]:
    """Return lines of code on their background, folded where they are too long."""
    return [
        drawn
        for runs in coloured("\n".join(lines), language, look)
        for drawn in _folded(tuple(runs), look.block, width)
    ]


@lru_cache(maxsize=128)
def _folded(runs: tuple[Run, ...], block: Style, width: int) -> tuple[Line, ...]:
    """Return one line of code on its background; the same again while the code after it is still being written."""
    return tuple(
        folded._replace(strip=folded.strip.extend_cell_length(width, block))
        for folded in fold(runs, width - 1, first=[(" ", block)], words=False)
    )


def coloured(text: str, language: str, look: Look) -> Iterator[list[Run]]:
    """Yield the lines of `text` (cleaned) as runs; one of a language that is not known has one colour."""
    tokens = _tokens(text, language, look)
    runs: list[Run] = []
    for style, value in tokens:
        head, *others = value.split("\n")
        runs.append((head, style))
        for other in others:
            yield runs
            runs = [(other, style)]
    yield runs


def _tokens(text: str, language: str, look: Look) -> list[tuple[Style, str]]:
    lexer = look.lexers.lexer(language)
    if lexer is None or max(map(len, text.split("\n"))) > _LONGEST:
        return [(look.block, text)]
    ended = text + "\n"  # some lexers read whole lines only
    tokens = [(_style(str(kind), look), value) for _, kind, value in lexer.get_tokens_unprocessed(ended)]
    if "".join(value for _, value in tokens) != ended:
        return [(look.block, text)]
    style, last = tokens[-1]
    return [*tokens[:-1], (style, last[:-1])]


@lru_cache(maxsize=1024)
def _style(kind: str, look: Look) -> Style:
    """Return the style of a pygments token type, by the longest beginning of its name that has one."""
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
