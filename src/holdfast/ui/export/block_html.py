"""The blocks of a transcript as HTML, for the exported page and the live page of the server.

All content is text: HTML in it is escaped, nothing is a link or an image, and each part is rendered separately, so that
none can swallow the next. A call shows its outcome, and its diff in place of its arguments.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from holdfast.text import printable
from holdfast.ui.export.markdown import LONGEST_MARKDOWN, block_paragraphs, fenced
from holdfast.ui.view.blocks import Block, CallBlock
from holdfast.ui.view.edit_changes import EditChange
from holdfast.ui.view.sentences import MARKS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_DEEPEST = 100  # levels of lists and quotes
_COMPARED = 400
"""Lines per side above which a diff is not compared: all old lines are removed, all new ones added."""
_AROUND = 2
_SHOWN = 12
"""Maximum lines of a result that is shown open; a longer one is folded."""


def block_html(block: Block) -> str:
    """Return a block as sections of HTML."""
    if isinstance(block, CallBlock):
        return f'<section class="call {block.state}">\n{"".join(_call(block))}</section>'
    return "\n".join(section_html(part.kind, part.markdown) for part in block_paragraphs(block, quoted=fenced))


def section_html(kind: str, markdown: str) -> str:
    """Return a part of the document as a section."""
    return f'<section class="{kind}">\n{_rendered(printable(markdown))}</section>'


def _rendered(text: str) -> str:
    """Return Markdown as HTML, or as preformatted text if it is too long or nested too deeply for the parser."""
    if len(text) > LONGEST_MARKDOWN:
        return f"<pre>{escape(text)}</pre>\n"
    form = _parser()
    tokens = form.parse(text)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return f"<pre>{escape(text)}</pre>\n"
    return str(form.renderer.render(tokens, form.options, {}))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # 30 ms that only a page pays

    # No links: their address is shown as text, so that the reader sees what a click would have opened.
    without = ["link", "image", "autolink", "reference", "entity"]
    return (
        MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": _DEEPEST})
        .enable(["table", "strikethrough"])
        .disable(without)
    )


def _call(call: CallBlock) -> Iterator[str]:
    mark = f'<span class="mark">{MARKS[call.state]}</span> ' if call.state in MARKS else ""
    took = f", {call.seconds:.1f} s" if call.seconds else ""
    confined = f", confined: {call.confined}" if call.confined else ""
    state = f"{call.state.replace('_', ' ')}{took}{confined}"
    name = escape(printable(call.name))
    yield f'<p class="head">{mark}<strong>{name}</strong><span class="state">: {state}</span></p>\n'
    if call.edits:
        for edit in call.edits:
            yield _diff(edit)
    elif call.todo:
        signs = {"open": "○", "doing": "◐", "done": "✓"}
        yield (
            "<pre>" + "\n".join(escape(printable(f"{signs[each.state]} {each.text}")) for each in call.todo) + "</pre>"
        )
    else:
        yield f"<pre><code>{escape(printable(_arguments(call)))}</code></pre>\n"
    if call.output:
        yield f'<pre class="live"><code>{escape(printable(call.output))}</code></pre>\n'
    if call.result and not (call.edits and call.state == "ok"):
        yield _result(printable(call.result).rstrip())


def _result(text: str) -> str:
    lines = text.count("\n") + 1
    body = f"<pre><code>{escape(text)}</code></pre>"
    if lines <= _SHOWN:
        return f"{body}\n"
    return f"<details><summary>Output, {lines} lines</summary>{body}</details>\n"


def _arguments(call: CallBlock) -> str:
    """Return the arguments, one line each if they are short values, else as the model wrote them."""
    try:
        decoded: object = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        return call.arguments
    if not isinstance(decoded, dict):
        return call.arguments
    lines: list[str] = []
    for name, value in decoded.items():  # pyright: ignore[reportUnknownVariableType] - JSON of a model
        if not isinstance(value, str | int | float | bool) and value is not None:
            return call.arguments
        alone = name in {"command", "path", "pattern", "url", "query"} and not lines
        lines.append(str(value) if alone else f"{name}: {value}")
    return "\n".join(lines)


def _diff(edit: EditChange) -> str:
    how = f" ({edit.how})" if edit.how else ""
    path = f'<span class="path">{escape(printable(edit.path + how))}</span>'
    return f'<pre class="diff"><code>{path}{"".join(_changes(edit))}</code></pre>\n'


def _changes(edit: EditChange) -> Iterator[str]:
    new = _lines(edit.new)
    if edit.old is None:
        yield from (_line("+", text) for text in new)
        return
    old = _lines(edit.old)
    if max(len(old), len(new)) > _COMPARED:
        yield from (_line("-", text) for text in old)
        yield from (_line("+", text) for text in new)
        return
    groups = difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND)
    for number, group in enumerate(groups):
        if number:
            yield _line(" ", "⋮")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (_line(" ", text) for text in old[i1:i2])
            else:
                yield from (_line("-", text) for text in old[i1:i2])
                yield from (_line("+", text) for text in new[j1:j2])


def _line(sign: str, text: str) -> str:
    kind = {"+": " added", "-": " removed"}.get(sign, "")
    tag = {"+": "ins", "-": "del"}.get(sign, "span")
    return f'<{tag} class="line{kind}"><span class="sign">{sign} </span>{escape(text)}</{tag}>'


def _lines(text: str) -> Sequence[str]:
    return printable(text).removesuffix("\n").split("\n") if text else ()
