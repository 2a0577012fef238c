"""Export a session as one HTML page: its Markdown export, rendered into a template.

Two rules. All content is text: HTML in it is escaped and nothing is a link. The page runs no script and loads nothing.
"""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from holdfast.session.journal.store import Reading
from holdfast.text import printable
from holdfast.ui.export.markdown import fenced, paragraphs


def page(reading: Reading, session: str) -> str:
    """Return the session as a self-contained page; each part is rendered alone, so that none can swallow the next."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 30 ms that only a page pays

    # No links: their address is shown as text, so that the reader sees what a click would have opened.
    without = ["link", "image", "autolink", "reference", "entity"]
    form = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable(without)
    parts = (
        f'<section class="{part.kind}">\n{form.render(printable(part.markdown))}</section>'
        for part in paragraphs(reading, quoted=fenced)
    )
    template = Template(files("holdfast.ui.export").joinpath("session.html").read_text("utf-8"))
    return template.substitute(title=escape(printable(f"Session {session}")), body="\n".join(parts))
