"""The HTML page of a session: whatever is in it is text, and nothing is loaded from anywhere."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.session.journal.entries import CallEnded, CallStarted, Entry, PromptAccepted, ResponseEnded, TurnEnded
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import Finding, Reading, StoredEntry
from holdfast.ui.export.html import page
from journals import journals, opened
from laws import law
from tiers import sampled

HOSTILE = [
    "</pre></article><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "]]><!-- &lt;script&gt; javascript:alert(1)",
    "\x1b]8;;http://evil.example\x07x",
]
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "section", "h1", "h2", "h3", "h4", "h5", "h6", "p", "br", "hr"),
    *("details", "summary", "span", "ins", "del"),
    *("strong", "em", "s", "code", "pre", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
}


class Seen(HTMLParser):
    """What a browser would see: every tag with its attributes, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(*entries: Entry, findings: tuple[Finding, ...] = ()) -> str:
    records = tuple(StoredEntry(seq, 1763852345.0 + seq, entry) for seq, entry in enumerate(entries, 1))
    return page(Reading(records=records, findings=findings), "s<1>")


def turn(text: str) -> tuple[Entry, ...]:
    call = CallPart(id="z", name=text, arguments=text)
    parts = (ThinkingPart(text), TextPart(text), call)
    usage = Usage(input_tokens=900, output_tokens=100, cost="0.0123")
    return (
        PromptAccepted(turn=1, text=text),
        ResponseEnded(step=1, model=f"openai-chat:{text}", parts=parts, usage=usage),
        CallStarted(call="z", effect="read"),
        CallEnded(call="z", outcome="failed", text=text, seconds=1.5),
        TurnEnded(turn=1, reason="cancelled", cause="user", detail=text),
    )


def harmless(text: str) -> Seen:
    """Return what a browser would see of the page, having looked that it is ours alone."""
    seen = Seen(text)
    assert {tag for tag, _ in seen.tags} <= TAGS
    for tag, attributes in seen.tags:
        if tag != "meta":
            assert set(attributes) <= {"class", "lang", "start", "style"}
            assert attributes.get("style") in (None, "text-align:left", "text-align:center", "text-align:right")
    (policy,) = [each["content"] for tag, each in seen.tags if tag == "meta" and "http-equiv" in each]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
    return seen


def test_what_is_said_is_text_and_not_part_of_the_page() -> None:
    for hostile in HOSTILE:
        text = shown(opened, *turn(hostile), findings=(Finding(seq=9, what=hostile),))
        seen = harmless(text)
        assert "\x1b" not in text
        if hostile.isprintable():
            assert seen.text.count(hostile) >= 6


@law(60)
@given(journal=journals, text=st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)))
def test_any_journal_gives_a_harmless_page(journal: list[Entry], text: str) -> None:
    assert harmless(shown(opened, *journal, *turn(text.encode("utf-8", "replace").decode())))


def test_who_said_it_is_known_by_the_section_and_not_by_the_words() -> None:
    forged = "## Turn 2\n\n```prompt\nDelete it.\n```\n</section><section class=prompt>"
    seen = harmless(shown(opened, *turn(forged)))
    sections = [attributes["class"] for tag, attributes in seen.tags if tag == "section"]
    assert sections == ["note", "turn", "prompt", "thinking", "answer", "call failed", "end"]


def test_calls_have_outcomes_and_durations() -> None:
    seen = harmless(shown(opened, *turn("ls")))
    assert "✗ ls: failed, 1.5 s" in seen.text
    assert "Turn ended: you stopped the turn (ls)" in seen.text


def test_an_answer_that_leaves_something_open_keeps_it_to_itself() -> None:
    for left_open in (
        "```python\nprint(",
        "~~~~\nx",
        "- one\n  ```\n  cut",
        "> ```\n> cut",
        "<!-- hidden",
        "| a |\n|---|",
    ):
        seen = harmless(shown(opened, *turn(left_open), PromptAccepted(turn=2, text="on")))
        headings = [tag for tag, _ in seen.tags if tag == "h2"]
        assert len(headings) == 2


@pytest.mark.parametrize(("mark", "depth"), sampled(product(["  ", "> "], [30, 48, 60, 98, 101, 300]), 6))
def test_no_word_is_too_deep_to_be_shown(mark: str, depth: int) -> None:
    last = "- " if mark == "  " else "> "
    seen = harmless(shown(opened, *turn("\n".join(f"{mark * level}{last}word{level}" for level in range(depth)))))
    assert [level for level in range(depth) if f"word{level}" not in seen.text.split()] == []


@pytest.mark.parametrize("piece", sampled(["*a ", "[", "`", "> ", "| a ", "- x\n"], 4))
def test_ten_times_the_text_costs_about_ten_times_as_much(piece: str) -> None:
    def cost(times: int) -> float:
        text = piece * times
        began = time.process_time()
        harmless(shown(opened, *turn(text)))
        return time.process_time() - began

    cost(100)  # pays for imports
    assert cost(4_000) < 40 * max(cost(400), 0.01)
