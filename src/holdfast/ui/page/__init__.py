"""A session as one HTML page for people: a timeline of turns, what they cost, a search, light and dark.

Two rules. Whatever was said, read or printed is text: it is escaped, and the page allows no script but its own. Nothing
is loaded from anywhere.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from holdfast.agent.events import Fact
from holdfast.session.entries import PromptAccepted, ResponseEnded, TurnEnded, Usage
from holdfast.session.store import Reading, Record
from holdfast.text import printable
from holdfast.ui.account import MARKS
from holdfast.ui.blocks import Answer, Block, Call, Note, Prompt, Thinking, TurnEnd
from holdfast.ui.view import View

if TYPE_CHECKING:
    from markdown_it import MarkdownIt


def page(reading: Reading, session: str) -> str:
    """Return the session as a page that needs nothing else."""
    view = View()
    view.load(Fact(record.seq, record.entry) for record in reading.records)
    style, script = _file("session.css"), _file("session.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    damage = (_article("note failed", f"Damaged: {each.what}") for each in reading.findings)
    title = _text(f"Session {session}")
    return "\n".join(
        [
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<style>\n{style}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>",
            '<output id="found"></output><input id="search" type="search" placeholder="Search" aria-label="Search">',
            '<button id="theme" type="button" aria-label="Light or dark" title="Light or dark">◐</button>\n</header>',
            *_chart(reading.records),
            *damage,
            *_articles(view.blocks(), {record.seq: record.at for record in reading.records}),
            f"<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _file(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _article(kind: str, text: str) -> str:
    return f'<article class="{kind}"><pre>{_text(text.strip())}</pre></article>'


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 30 ms that only a page pays

    # No link leads away: its address is text, so that what one would open is what one sees.
    without = ["link", "image", "autolink", "reference"]
    form = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    return form.disable(without)


def _prose(text: str) -> str:
    """Return an answer's Markdown as HTML without a link, an image or anything that loads or runs."""
    return str(_parser().render(printable(text)))


def _articles(blocks: Iterable[Block], times: dict[int, float]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Prompt(turn=turn, text=text):
                if turn:
                    at = times.get(int(block.key.partition(".")[0]), 0.0)
                    moment = dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
                    yield f'<h2 id="turn-{turn}">Turn {turn}, <time>{moment}</time></h2>'
                yield _article("prompt", text)
            case Answer(text=text, state=state):
                cut = '<p class="cut">The response was cut off here.</p>' if state == "cut" else ""
                yield f'<article class="answer">{_prose(text)}{cut}</article>'
            case Thinking(text=text):
                if text.strip():
                    yield f'<article class="thinking">{_folded("Thinking", text)}</article>'
            case Call():
                yield _call(block)
            case Note(text=text, detail=detail):
                yield f'<article class="note">{_folded(text, detail)}</article>' if detail else _article("note", text)
            case TurnEnd(text=text):
                if text:
                    yield _article("end", f"Turn ended: {text}.")


def _folded(summary: str, text: str) -> str:
    return f"<details><summary>{_text(summary)}</summary><pre>{_text(text.strip())}</pre></details>"


def _call(call: Call) -> str:
    took = f" {call.seconds:.1f} s" if call.seconds else ""
    mark = f'<span class="mark">{MARKS.get(call.state, "·")}</span>'
    outcome = "" if call.state == "ok" else f" {call.state.replace('_', ' ')}"
    held = f"<pre>{_text(call.arguments)}</pre>" + (f"<hr><pre>{_text(call.result)}</pre>" if call.result else "")
    name, _, rest = call.title.partition(" ")
    said = f'<b>{_text(name)}</b> <code>{_text(rest)}</code> <span class="outcome">{outcome}{took}</span>'
    shown = f"<details><summary>{mark} {said}</summary>{held}</details>"
    return f'<article class="call {call.state}">{shown}</article>'


def _chart(records: Iterable[Record]) -> Iterator[str]:
    """Yield a row for each turn: how long it took, its tokens as bars, what it cost."""
    spent: dict[int, Usage] = {}
    began: dict[int, float] = {}
    took: dict[int, float] = {}
    turn = 0
    for record in records:
        match record.entry:
            case PromptAccepted(turn=turn):
                began[turn] = record.at
            case ResponseEnded(usage=usage):
                spent[turn] = spent.get(turn, Usage(cost="0")) + usage
            case TurnEnded(turn=ended):
                took[ended] = record.at - began.get(ended, record.at)
            case _:
                pass
    most = max((each.input_tokens + each.output_tokens for each in spent.values()), default=0)
    if not most:
        return
    heads = "<th>Turn</th><th>Seconds</th><th>Tokens in</th><th>Tokens out</th><th>US$</th><th></th>"
    yield f'<table class="turns"><tr>{heads}</tr>'
    for number, usage in spent.items():
        bars = "".join(
            f'<span style="width:{100 * tokens / most:.1f}%"></span>'
            for tokens in (usage.input_tokens, usage.output_tokens)
        )
        seconds = f"{took[number]:.1f}" if number in took else ""
        link = f'<a href="#turn-{number}">{number}</a>'
        cells = (link, seconds, f"{usage.input_tokens:,}", f"{usage.output_tokens:,}")
        cost = _text(usage.cost) if usage.cost is not None else "?"
        yield f'<tr>{"".join(f"<td>{each}</td>" for each in cells)}<td>{cost}</td><td class="bar">{bars}</td></tr>'
    yield "</table>"
