"""Export a session as one HTML page: its Markdown export, rendered into a template.

Two rules. All content is text: HTML in it is escaped and nothing is a link. The page runs no script and loads nothing.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from holdfast.session.journal.store import Reading
from holdfast.text import printable
from holdfast.ui.export.markdown import fenced, paragraphs

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_DEEPEST = 100  # levels of lists and quotes


def page(reading: Reading, session: str) -> str:
    """Return the session as a self-contained page; each part is rendered alone, so that none can swallow the next."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 30 ms that only a page pays

    # No links: their address is shown as text, so that the reader sees what a click would have opened.
    without = ["link", "image", "autolink", "reference", "entity"]
    form = (
        MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": _DEEPEST})
        .enable(["table", "strikethrough"])
        .disable(without)
    )
    parts = (
        f'<section class="{part.kind}">\n{_rendered(form, printable(part.markdown))}</section>'
        for part in paragraphs(reading, quoted=fenced)
    )
    template = Template(files("holdfast.ui.export").joinpath("session.html").read_text("utf-8"))
    return template.substitute(title=escape(printable(f"Session {session}")), body="\n".join(parts))


def _rendered(form: MarkdownIt, text: str) -> str:
    """Return a part as HTML; if it is nested so deep that the parser leaves something out, as it is written."""
    tokens = form.parse(text)
    if any(token.level >= _DEEPEST - 1 for token in tokens):
        return f"<pre>{escape(text)}</pre>\n"
    return str(form.renderer.render(tokens, form.options, {}))
