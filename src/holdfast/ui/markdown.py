"""A session as a Markdown document for people: what was said, what was called, what came of it.

One rule: what a tool gave is fenced so that nothing in it ends the fence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from holdfast.agent.events import Fact
from holdfast.session.store import Reading
from holdfast.text import printable
from holdfast.ui.account import MARKS
from holdfast.ui.blocks import Answer, Block, Call, Note, Prompt, Thinking, TurnEnd
from holdfast.ui.view import View


def markdown(reading: Reading, session: str) -> str:
    """Return the session as Markdown, without anything a terminal would act on."""
    view = View()
    view.load(Fact(record.seq, record.entry) for record in reading.records)
    found = [f"> **Damaged:** {_line(each.what)}" for each in reading.findings]
    return printable("\n\n".join([f"# Session {session}", *found, *_paragraphs(view.blocks())])) + "\n"


def _paragraphs(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Prompt(turn=turn, text=text):
                yield f"## Turn {turn}" if turn else "### Said meanwhile"
                yield _quoted(text)
            case Answer(text=text, state=state):
                yield text.strip()
                if state == "cut":
                    yield "*The response was cut off here.*"
            case Thinking(text=text):
                if text.strip():
                    yield f"*Thinking:*\n\n{_quoted(text)}"
            case Call():
                yield from _call(block)
            case Note(text=text):
                yield f"*{_escaped(_line(text))}*"
            case TurnEnd(text=text):
                if text:
                    yield f"*Turn ended: {_escaped(_line(text))}.*"


def _call(call: Call) -> Iterator[str]:
    took = f", {call.seconds:.1f} s" if call.seconds else ""
    mark = f"{MARKS[call.state]} " if call.state in MARKS else ""
    yield f"**{mark}{_escaped(call.name)}**: {call.state.replace('_', ' ')}{took}"
    yield _fenced(call.arguments)
    if call.result:
        yield _fenced(call.result)


def _fenced(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
