from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis.strategies import text
from markdown_it import MarkdownIt

from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Compacted,
    Entry,
    PromptAccepted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.journal.store import Finding, Reading, StoredEntry
from holdfast.ui.export.markdown import markdown
from journals import journals, opened


def reading(*entries: Entry, findings: tuple[Finding, ...] = ()) -> Reading:
    records = tuple(StoredEntry(seq, 0.0, entry) for seq, entry in enumerate(entries, 1))
    return Reading(records=records, findings=findings)


def test_what_happened_in_the_order_it_did() -> None:
    call = CallPart(id="a", name="bash", arguments='{"command": "ls"}')
    text = markdown(
        reading(
            opened,
            PromptAccepted(turn=1, text="# go\nand look"),
            ResponseEnded(step=1, model="openai-chat:m", parts=(TextPart("I **look**."), call), usage=Usage()),
            CallStarted(call="a", effect="execute"),
            CallEnded(call="a", outcome="failed", text="```\nevil\n# no heading\x1b[31m", seconds=1.25),
            TurnEnded(turn=1, reason="cancelled", cause="user"),
            findings=(Finding(seq=9, what="Entry 9 is\nlost."),),
        ),
        "s",
    )
    expected = [
        "# Session s\n\n> **Damaged:** Entry 9 is lost.",
        "## Turn 1\n\n> # go\n> and look\n\nI **look**.\n\n**✗ bash**: failed, 1.2 s",
        '```\n{"command": "ls"}\n```\n\n````\n```\nevil\n# no heading\n````\n\n*Turn ended: you stopped the turn*\n',
        "*1 command · 1 call of unknown effect*",
    ]
    place = -1
    for each in expected:
        found = text.find(each)
        assert found > place, f"{each!r} is not behind the one before in:\n{text}"
        place = found


@given(journals)
def test_nothing_that_a_tool_gave_gets_out_of_its_fence(journal: list[Entry]) -> None:
    nasty = "````\n# Turn 99\n~~~\n</details>\n`````"
    ended = [CallEnded(call="z", outcome="ok", text=nasty)]
    call = ResponseEnded(
        step=9, model="openai-chat:m", parts=(CallPart(id="z", name="x", arguments=nasty),), usage=Usage()
    )
    start = [PromptAccepted(turn=9, text="go"), call, CallStarted(call="z", effect="read")]
    text = markdown(reading(opened, *journal, *start, *ended), "s")
    headings = [token.map for token in MarkdownIt().parse(text) if token.type == "heading_open"]
    assert "# Turn 99" in text.splitlines()
    assert all("Turn 99" not in text.splitlines()[where[0]] for where in headings if where)


@pytest.mark.parametrize(
    "left_open",
    [
        "```python\nprint(",
        "~~~~\nx",
        "- one\n  ```\n  cut",
        "> ```\n> cut",
        "<!-- hidden",
        "<script>\n\nlet x",
        "<?php",
        "<![CDATA[ x",
        "<!DOCTYPE x",
        "```` ```\n```\n",
        "# heading",
        "| a |\n|---|",
        "text ```",
        "",
    ],
)
def test_what_an_answer_leaves_open_swallows_nothing(left_open: str) -> None:
    cut = ResponseEnded(step=1, model="a:b", parts=(TextPart(left_open),), usage=Usage(), cut="user")
    done = ResponseEnded(step=2, model="a:b", parts=(TextPart("Said."),), usage=Usage())
    turns = [PromptAccepted(turn=1, text="go"), cut, TurnEnded(turn=1, reason="cancelled", cause="user")]
    text = markdown(reading(opened, *turns, PromptAccepted(turn=2, text="on"), done), "s")
    lines = text.splitlines()
    found = [lines[token.map[0]] for token in MarkdownIt().parse(text) if token.type == "heading_open" and token.map]
    assert found[0] == "# Session s"
    assert "## Turn 2" in found
    assert left_open.strip() in text


@given(text(alphabet="`~<!->?[]\n #a", max_size=30))
def test_no_answer_hides_the_next_turn(answer: str) -> None:
    response = ResponseEnded(step=1, model="a:b", parts=(TextPart(answer),), usage=Usage())
    page = markdown(
        reading(opened, PromptAccepted(turn=1, text="go"), response, PromptAccepted(turn=2, text="on")), "s"
    )
    lines = page.splitlines()
    found = [lines[token.map[0]] for token in MarkdownIt().parse(page) if token.type == "heading_open" and token.map]
    assert "## Turn 2" in found, page


def test_the_summary_that_stands_for_the_older_part_is_quoted() -> None:
    compacted = Compacted(step=1, note="What was done:\n# a lot", why="asked")
    done = ResponseEnded(step=1, model="a:b", parts=(TextPart("Said."),), usage=Usage())
    text = markdown(reading(opened, PromptAccepted(turn=1, text="go"), done, compacted), "s")
    assert text.endswith("\n\n> What was done:\n> # a lot\n")
