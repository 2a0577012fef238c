"""The exported page in a real browser: it opens from a file, sends no request, and runs nothing.

Skipped where there is no Chromium.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser

from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    PromptAccepted,
    ResponseEnded,
    TurnEnded,
)
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart, Usage
from holdfast.session.journal.store import Reading, StoredEntry
from holdfast.ui.export.html import page
from skips import needs

HOSTILE = (
    "<script>document.title='owned'</script><img src='https://evil.example/a.png' onerror=\"document.title='owned'\">"
    "\n\n[click](javascript:document.title='owned') ![x](https://evil.example/b.png) <https://evil.example/c>\n"
    "<svg onload=\"document.title='owned'\"></svg> </pre></article></script><link rel=stylesheet href=//evil.example/d>"
)

pytestmark = needs("browser")


def session(words: str) -> Iterator[Entry]:
    for turn in (1, 2):
        call = CallPart(id=f"c{turn}", name="bash", arguments=json.dumps({"command": words}))
        parts = (ThinkingPart(words), TextPart(f"The **answer** {turn} is `42`.\n\n{words}"), call)
        yield PromptAccepted(turn=turn, text=f"question {turn}: {words}")
        yield ResponseEnded(
            step=turn, model="m:m", parts=parts, usage=Usage(input_tokens=900 * turn, output_tokens=100, cost="0.01")
        )
        yield CallStarted(call=call.id, effect="execute")
        yield CallEnded(call=call.id, outcome="failed", text=words, seconds=1.5)
        yield TurnEnded(turn=turn, reason="end_turn", cause="finished")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_in_a_browser(tmp_path: Path, scheme: str) -> None:
    records = tuple(StoredEntry(seq, 1_767_300_000.0 + seq, entry) for seq, entry in enumerate(session(HOSTILE), 1))
    file = tmp_path / "page.html"
    file.write_text(page(Reading(records=records), "s-1"), encoding="utf-8")
    with Browser(tmp_path / "profile") as browser:
        browser.open(file.as_uri(), scheme=scheme)
        sections = browser.value("[...document.querySelectorAll('section')].map(each => each.className).join(' ')")
        assert sections == " ".join(["turn prompt thinking answer call failed note"] * 2)
        assert browser.value("document.title") == "Session s-1"  # nothing of what was said has run
        assert browser.value("document.links.length + document.images.length + document.scripts.length") == 0

        bright = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((a, b) => a + +b, 0) > 384"
        assert browser.value(bright) is (scheme == "light")

        seen = browser.do("Page.captureScreenshot")["data"]
        assert len(seen) > 10_000
        assert browser.value("document.title") == "Session s-1"
        addresses = [each["request"]["url"] for each in browser.methods("Network.requestWillBeSent")]
        assert addresses == [file.as_uri()]
        assert browser.methods("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded") == []
