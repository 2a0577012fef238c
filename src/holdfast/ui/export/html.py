"""Export a session as one HTML page, which runs no script and loads nothing."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from holdfast.agent.events import Fact
from holdfast.session.journal.store import Reading
from holdfast.text import printable
from holdfast.ui.export.block_html import block_html, section_html
from holdfast.ui.export.markdown import damage_paragraph
from holdfast.ui.view.view import View


def page(reading: Reading, session: str) -> str:
    """Return the session as a self-contained page."""
    view = View()
    view.load(Fact(record.seq, record.entry) for record in reading.records)
    damage = (damage_paragraph(finding) for finding in reading.findings)
    parts = [section_html(each.kind, each.markdown) for each in damage]
    parts += filter(None, map(block_html, view.blocks()))
    template = Template(files("holdfast.ui.export").joinpath("session.html").read_text("utf-8"))
    return template.substitute(title=escape(printable(f"Session {session}")), body="\n".join(parts))
