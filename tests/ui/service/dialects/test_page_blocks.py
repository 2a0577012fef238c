"""What the page is sent of a long text: its end while it is written, all of it when it is complete."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from holdfast.agent.events import Event, LiveText, LiveThinking
from holdfast.session.journal.entries import PromptAccepted, RequestStarted, ResponseEnded
from holdfast.session.journal.parts import TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import StoredEntry
from holdfast.ui.export.markdown import LONGEST_MARKDOWN
from holdfast.ui.service.dialects.page_blocks import PageDialect
from journals import opened

LINES = "".join(f"* **bold {number}** and `code {number}` with _some_ text\n" for number in range(20_000))
"""A megabyte that takes seconds to parse."""
USAGE = Usage(input_tokens=1, output_tokens=1)


def begun() -> PageDialect:
    entries = (opened, PromptAccepted(turn=1, text="go"), RequestStarted(step=1, attempt=1, model="m:m"))
    return PageDialect([StoredEntry(seq, 0.0, entry) for seq, entry in enumerate(entries, 1)], seen=0, project=False)


def sent(page: PageDialect, item: StoredEntry | Event) -> list[dict[str, Any]]:
    """Return the blocks that the page is sent for an item."""
    return [each for each in (json.loads(event.data) for event in page.of(item)) if each["type"] == "set"]


@pytest.mark.parametrize(("live", "whole"), [(LiveText, TextPart), (LiveThinking, ThinkingPart)])
def test_of_a_long_text_the_end_is_shown_while_it_is_written(
    live: type[LiveText | LiveThinking], whole: type[TextPart | ThinkingPart]
) -> None:
    page = begun()
    (block,) = sent(page, live(1, f"first {'x' * 20_000} last"))
    assert "last" in block["html"]
    assert "first" not in block["html"]
    assert "characters before these are shown when it is complete" in block["html"]
    assert len(block["html"]) < 17_000
    part = whole(f"first {'x' * 20_000} last")
    (block,) = sent(page, StoredEntry(4, 0.0, ResponseEnded(step=1, model="m:m", parts=(part,), usage=USAGE)))
    assert "first" in block["html"]
    assert "last" in block["html"]
    assert "characters before these" not in block["html"]


def test_a_short_text_is_shown_as_it_is() -> None:
    (block,) = sent(begun(), LiveText(1, "x" * 16_384))
    assert block["html"] == f'<section class="answer">\n<p>{"x" * 16_384}</p>\n</section>'


def test_a_redraw_leaves_time_for_all_else() -> None:
    page, drawn, spent = begun(), 0, 0.0
    since = time.monotonic()
    while time.monotonic() < since + 1:
        began = time.thread_time()
        drawn += len(sent(page, LiveText(1, LINES[:400])))
        spent += time.thread_time() - began
        time.sleep(0.01)
    assert 0 < drawn <= 11
    assert spent < 0.6


@pytest.mark.parametrize("count", [LONGEST_MARKDOWN + 1, len(LINES)])
def test_a_complete_text_that_is_too_long_to_be_parsed_is_plain(count: int) -> None:
    page = begun()
    entry = ResponseEnded(step=1, model="m:m", parts=(TextPart(LINES[:count]),), usage=USAGE)
    since = time.thread_time()
    (block,) = sent(page, StoredEntry(4, 0.0, entry))
    assert time.thread_time() - since < 0.5
    assert "* **bold 0** and" in block["html"]
    assert "<li>" not in block["html"]
    assert LINES[:count].rstrip()[-20:] in block["html"]
