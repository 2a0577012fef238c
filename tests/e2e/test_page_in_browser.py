"""The exported page in a real browser: it opens from a file, asks nobody for anything, and runs nothing.

Skipped where there is no Chromium. It is spoken to by its own protocol, through two pipes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

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

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
)
HOSTILE = (
    "<script>document.title='owned'</script><img src='https://evil.example/a.png' onerror=\"document.title='owned'\">"
    "\n\n[click](javascript:document.title='owned') ![x](https://evil.example/b.png) <https://evil.example/c>\n"
    "<svg onload=\"document.title='owned'\"></svg> </pre></article></script><link rel=stylesheet href=//evil.example/d>"
)

_AS_3_AND_4 = """
import fcntl, os, sys
into, out = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(into, 3)
os.dup2(out, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here: the page was not seen in a browser")


class Browser:
    """A Chromium with one page; `heard` is everything it told."""

    def __init__(self, profile: Path) -> None:
        into, self._commands = os.pipe()
        self._answers, out = os.pipe()
        self._process = subprocess.Popen(
            (sys.executable, "-c", _AS_3_AND_4, str(into), str(out), CHROMIUM, *FLAGS, f"--user-data-dir={profile}"),
            pass_fds=(into, out),
            stderr=subprocess.DEVNULL,
        )
        os.close(into)
        os.close(out)
        self._rest = b""
        self._numbers = count(1)
        self._page: str | None = None
        self.heard: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._page = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.do(f"{domain}.enable")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)

    def do(self, method: str, **parameters: object) -> dict[str, Any]:
        """Return what the browser answers; what it tells meanwhile is kept."""
        number = next(self._numbers)
        asked: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if self._page is not None:
            asked["sessionId"] = self._page
        os.write(self._commands, json.dumps(asked).encode() + b"\0")
        for told in self._told():
            if told.get("id") == number:
                assert "error" not in told, told
                return told["result"]
            self.heard.append(told)
        raise AssertionError("the browser is gone")

    def open(self, file: Path, *, scheme: str) -> None:
        """Show a file to somebody who likes it `dark` or `light`."""
        self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.do("Page.navigate", url=file.as_uri())
        while not any(told.get("method") == "Page.loadEventFired" for told in self.heard):
            self.heard.append(next(self._told()))

    def value(self, expression: str) -> Any:
        """Return what an expression is worth in the page."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def methods(self, *names: str) -> list[dict[str, Any]]:
        """Return what was told under these names."""
        return [told["params"] for told in self.heard if told.get("method") in names]

    def _told(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._rest:
                data = os.read(self._answers, 1 << 16)
                if not data:
                    return
                self._rest += data
            message, _, self._rest = self._rest.partition(b"\0")
            yield json.loads(message)


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
        browser.open(file, scheme=scheme)
        sections = browser.value("[...document.querySelectorAll('section')].map(each => each.className).join(' ')")
        assert sections == " ".join(["turn prompt thinking answer call"] * 2)
        assert browser.value("document.title") == "Session s-1"  # nothing of what was said has run
        assert browser.value("document.links.length + document.images.length + document.scripts.length") == 0

        bright = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).reduce((a, b) => a + +b, 0) > 384"
        assert browser.value(bright) is (scheme == "light")

        seen = browser.do("Page.captureScreenshot")["data"]
        assert len(seen) > 10_000
        assert browser.value("document.title") == "Session s-1"
        asked = [each["request"]["url"] for each in browser.methods("Network.requestWillBeSent")]
        assert asked == [file.as_uri()]
        assert browser.methods("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded") == []
