"""The HTML page of a session: whatever is in it is text, and nothing is loaded from anywhere."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.session.entries import (
    CallEnded,
    CallPart,
    CallStarted,
    Entry,
    PromptAccepted,
    ResponseEnded,
    TextPart,
    ThinkingPart,
    TurnEnded,
    Usage,
)
from holdfast.session.store import Finding, Reading, Record
from holdfast.ui.page import page
from journals import journals, opened

HOSTILE = [
    "</pre></article><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "]]><!-- &lt;script&gt; javascript:alert(1)",
    "\x1b]8;;http://evil.example\x07x",
]
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "h1", "h2", "time", "input", "output", "button"),
    *("p", "br", "strong", "em", "s", "code", "ul", "ol", "li", "blockquote", "h3", "h4", "h5", "h6", "thead", "tbody"),
    *("table", "tr", "th", "td", "span", "a", "article", "pre", "details", "summary", "b", "hr", "script"),
}


class Seen(HTMLParser):
    """What a browser would see: every tag with its attributes, and the text of the articles."""

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
    records = tuple(Record(seq, 1763852345.0 + seq, entry) for seq, entry in enumerate(entries, 1))
    return page(Reading(records=records, findings=findings), "s<1>")


def turn(text: str) -> tuple[Entry, ...]:
    call = CallPart(id="z", name=text, arguments=text)
    said = (ThinkingPart(text), TextPart(text), call)
    usage = Usage(input_tokens=900, output_tokens=100, cost="0.0123")
    return (
        PromptAccepted(turn=1, text=text),
        ResponseEnded(step=1, model=f"openai-chat:{text}", parts=said, usage=usage),
        CallStarted(call="z", effect="read"),
        CallEnded(call="z", outcome="failed", text=text, seconds=1.5),
        TurnEnded(turn=1, reason="cancelled", cause="user", detail=text),
    )


def harmless(text: str) -> Seen:
    """Return what a browser would see of the page, having looked that it is ours alone."""
    seen = Seen(text)
    assert {tag for tag, _ in seen.tags} <= TAGS
    assert [tag for tag, _ in seen.tags].count("script") == 1
    for _, attributes in seen.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "action", "srcdoc")}
        assert re.fullmatch(r"#turn-\d+", attributes.get("href") or "#turn-0")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [each["content"] for tag, each in seen.tags if tag == "meta" and "http-equiv" in each]
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
    return seen


def test_what_is_said_is_text_and_not_part_of_the_page() -> None:
    for hostile in HOSTILE:
        text = shown(opened, *turn(hostile), findings=(Finding(seq=9, what=hostile),))
        seen = harmless(text)
        assert "\x1b" not in text
        if hostile.isprintable():
            assert seen.text.count(hostile) >= 6


@settings(max_examples=60)
@given(journal=journals, text=st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40)))
def test_any_journal_gives_a_harmless_page(journal: list[Entry], text: str) -> None:
    assert harmless(shown(opened, *journal, *turn(text.encode("utf-8", "replace").decode())))


def test_turns_have_times_tokens_and_costs_and_calls_outcomes_and_durations() -> None:
    seen = harmless(shown(opened, *turn("ls")))
    assert "Turn 1, 2025-11-22 22:59:07 UTC" in seen.text
    assert "failed 1.5 s" in seen.text
    for number in ("900", "100", "0.0123", "4.0"):
        assert number in seen.text
    bars = [attributes["style"] for tag, attributes in seen.tags if tag == "span" and "style" in attributes]
    assert bars == ["width:90.0%", "width:10.0%"]
    assert [each["class"] for tag, each in seen.tags if tag == "article"][-2:] == ["call failed", "end"]


def test_a_session_without_tokens_has_no_chart() -> None:
    assert 'class="turns"' not in shown(opened, PromptAccepted(turn=1, text="go"))
