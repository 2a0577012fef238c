"""A session as a Markdown document for people: what was said, what was called, what came of it.

Two rules. What a tool gave is fenced so that nothing in it ends the fence. What an answer leaves open is closed, or it
would swallow all that follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from holdfast.agent.events import Fact
from holdfast.session.store import Reading
from holdfast.text import printable
from holdfast.ui.account import MARKS
from holdfast.ui.blocks import Answer, Block, Call, Note, Prompt, Thinking, TurnEnd
from holdfast.ui.view import View

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_ENDS = ("\n-->", "\n</script></pre></style></textarea>", "\n?>", "\n]]>", "\n>")
"""What ends a block of HTML that goes on over blank lines."""


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
                yield _closed(text.strip())
                if state == "cut":
                    yield "*The response was cut off here.*"
            case Thinking(text=text):
                if text.strip():
                    yield f"*Thinking:*\n\n{_quoted(text)}"
            case Call():
                yield from _call(block)
            case Note(text=text, detail=detail):
                yield f"*{_escaped(_line(text))}*"
                if detail:
                    yield _quoted(detail)
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


def _closed(text: str) -> str:
    """Return an answer with the fence or the HTML closed that it leaves open: one that was cut off often does."""
    for end in ("", f"\n{_last(text).markup}", *_ENDS):
        if _last(f"{text}{end}\n\nbehind").type == "paragraph_close":
            return f"{text}{end}"
    return _fenced(text)


def _last(text: str) -> Token:
    """Return the last token of a Markdown text."""
    from markdown_it.token import Token  # noqa: PLC0415 - 30 ms that only this form pays

    return next(reversed(_parser().parse(text)), Token("", "", 0))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    return MarkdownIt()


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
