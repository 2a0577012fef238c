"""Export a session as a Markdown document: prompts, answers, calls and their results.

Tool output is fenced so that nothing in it can end the fence. An unclosed fence or HTML block in an answer is closed,
because it would swallow everything after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from holdfast.agent.events import Fact
from holdfast.session.journal.store import Finding, Reading
from holdfast.text import printable
from holdfast.ui.view.blocks import AnswerBlock, Block, CallBlock, Note, Thinking, TurnEnd, UserBlock
from holdfast.ui.view.sentences import MARKS
from holdfast.ui.view.view import View

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST_MARKDOWN = 256 * 1024
"""Maximum characters of an answer that is parsed, which takes seconds for a megabyte. A longer one is plain text."""
_ENDS = ("\n-->", "\n</script></pre></style></textarea>", "\n?>", "\n]]>", "\n>")
"""The end of an HTML block that continues over blank lines."""


class Paragraph(NamedTuple):
    """A part of the document: its kind, and its Markdown."""

    kind: Literal["turn", "prompt", "answer", "thinking", "call", "note", "end", "damage"]
    markdown: str


def markdown(reading: Reading, session: str) -> str:
    """Return the session as Markdown, without control characters of a terminal."""
    texts = (each.markdown for each in paragraphs(reading, quoted=_quoted))
    return printable("\n\n".join([f"# Session {session}", *texts])) + "\n"


def paragraphs(reading: Reading, *, quoted: Callable[[str], str]) -> Iterator[Paragraph]:
    """Yield the session's parts in order. `quoted` converts a text that may not be Markdown to Markdown."""
    view = View()
    view.load(Fact(record.seq, record.entry) for record in reading.records)
    for finding in reading.findings:
        yield damage_paragraph(finding)
    for block in view.blocks():
        yield from block_paragraphs(block, quoted=quoted)


def damage_paragraph(finding: Finding) -> Paragraph:
    """Return the part that reports damage of the journal."""
    return Paragraph("damage", f"> **Damaged:** {_escaped(_line(finding.what))}")


def block_paragraphs(block: Block, *, quoted: Callable[[str], str]) -> Iterator[Paragraph]:
    """Yield the parts of one block; `quoted` as for `paragraphs`."""
    match block:
        case UserBlock(turn=turn, text=text):
            yield Paragraph("turn", f"## Turn {turn}" if turn else "### During the turn")
            yield Paragraph("prompt", quoted(text))
        case AnswerBlock(text=text, state=state):
            yield Paragraph("answer", _closed(text.strip()))
            if state == "cut":
                yield Paragraph("note", "*The response was cut off here.*")
        case Thinking(text=text):
            if text.strip():
                yield Paragraph("thinking", f"*Thinking:*\n\n{quoted(text)}")
        case CallBlock():
            yield Paragraph("call", "\n\n".join(_call(block)))
        case Note(text=text, detail=detail):
            line = f"*{_escaped(_line(text))}*"
            yield Paragraph("note", f"{line}\n\n{quoted(detail)}" if detail else line)
        case TurnEnd(text=text):
            if text:
                yield Paragraph("end", f"*{_escaped(_line(text))}*")


def _call(call: CallBlock) -> Iterator[str]:
    took = f", {call.seconds:.1f} s" if call.seconds else ""
    confined = f", confined: {call.confined}" if call.confined else ""
    mark = f"{MARKS[call.state]} " if call.state in MARKS else ""
    yield f"**{mark}{_escaped(call.name)}**: {call.state.replace('_', ' ')}{took}{confined}"
    yield fenced(call.arguments)
    if call.result:
        yield fenced(call.result)


def fenced(text: str) -> str:
    """Return a text in a fence that nothing in it can end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _closed(text: str) -> str:
    """Return an answer with its unclosed fence or HTML block closed; answers that were cut off often have one."""
    if len(text) > LONGEST_MARKDOWN:
        return fenced(text)
    for end in ("", f"\n{_last(text).markup}", *_ENDS):
        if _last(f"{text}{end}\n\nbehind").type == "paragraph_close":
            return f"{text}{end}"
    return fenced(text)


def _last(text: str) -> Token:
    """Return the last token of a Markdown text."""
    from markdown_it.token import Token  # 30 ms that only this form pays

    return next(reversed(_parser().parse(text)), Token("", "", 0))


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt().disable("inline")  # what is left open is known by the lines


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().splitlines())


def _line(text: str) -> str:
    return " ".join(text.split())


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>&])", r"\\\1", text)
