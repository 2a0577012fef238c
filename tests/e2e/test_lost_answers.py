"""The server's page in a real browser, behind a connection that loses answers: what is sent again is done once.

Skipped where there is no Chromium.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
from browser import Browser
from launching import World
from page_server import Served

from holdfast.session.journal import entries as e
from holdfast.testing.script import Say
from polling import eventually
from skips import needs

pytestmark = needs("browser")

BOX = "document.getElementById('composer-text').value"
STATUS = "document.getElementById('status').textContent"


class Line(ThreadingHTTPServer):
    """A proxy to the server. It cuts the connection after `lose` more writes reached the server, before the answer."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: str) -> None:
        super().__init__(("127.0.0.1", 0), _Relay)
        self.upstream = address
        self.lose = 0
        self.keys: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Relay(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._relay(b"")

    def do_POST(self) -> None:
        self._relay(self.rfile.read(int(self.headers.get("content-length", 0))))

    def _relay(self, body: bytes) -> None:
        line = self.server
        assert isinstance(line, Line)
        if key := self.headers.get("idempotency-key"):
            line.keys.append(key)
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        with (
            suppress(OSError, httpx2.HTTPError),
            httpx2.stream(
                self.command, line.upstream + self.path, headers=headers, content=body, timeout=None, trust_env=False
            ) as response,
        ):
            if key and line.lose:
                line.lose -= 1
                return
            self.send_response_only(response.status_code)
            for name, value in response.headers.multi_items():
                if name.lower() not in {"transfer-encoding", "connection", "content-length"}:
                    self.send_header(name, value)
            self.end_headers()
            for chunk in response.iter_raw():
                self.wfile.write(chunk)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        del format, args


@contextmanager
def line_to(address: str) -> Generator[Line]:
    line = Line(address)
    threading.Thread(target=line.serve_forever, daemon=True).start()
    try:
        yield line
    finally:
        line.shutdown()
        line.server_close()


def prompts(world: World) -> list[str]:
    return [
        entry.text for each in world.sessions for entry in world.entries(each) if isinstance(entry, e.PromptAccepted)
    ]


def enter(browser: Browser, text: str = "") -> None:
    if text:
        browser.type(text)
    browser.press("Enter", code=13, text="\r")


def test_what_is_sent_again_after_a_lost_answer_is_done_once(one_world: World, tmp_path: Path) -> None:
    world = one_world
    world.script(*[(Say(f"Answer {number}."),) for number in range(1, 5)])
    served = Served(world)
    with line_to(served.address) as line, Browser(tmp_path / "profile") as browser:
        browser.do("Emulation.setFocusEmulationEnabled", enabled=True)
        browser.open(f"{line.address}/", scheme="light")
        browser.until("!document.getElementById('login').hidden")
        enter(browser, served.token)
        browser.until("!document.getElementById('app').hidden")

        # A first message, twice without an answer: one session with one turn.
        line.lose = 2
        enter(browser, "first")
        browser.until(f"{STATUS}.includes('may have it already')")
        assert browser.value(BOX) == "first"
        assert "Nothing was sent" not in browser.value(STATUS)
        eventually(lambda: prompts(world) == ["first"])
        browser.until("!document.getElementById('send').disabled")
        enter(browser)
        eventually(lambda: line.lose == 0)
        browser.until("!sending")
        enter(browser)
        browser.until("location.hash.length > 1")
        browser.until("/Answer 1/.test(document.getElementById('log').textContent)")
        assert browser.value(BOX) == ""
        assert (len(world.sessions), len(set(line.keys)), len(line.keys)) == (1, 1, 3)

        # A later message, without an answer, and the page is loaded again.
        browser.until("document.getElementById('send').textContent === 'Send'")
        line.lose = 1
        enter(browser, "second")
        browser.until(f"{STATUS}.includes('may have it already')")
        eventually(lambda: prompts(world) == ["first", "second"])
        browser.do("Page.reload")
        browser.until(f"!!document.getElementById('composer-text') && {BOX} === 'second'")
        enter(browser)
        browser.until(f"{BOX} === ''")
        assert line.keys[-1] == line.keys[-2]

        # The text is changed after its answer was lost: the page says that the server has the first one.
        browser.until("document.getElementById('send').textContent === 'Send'")
        line.lose = 1
        enter(browser, "third")
        browser.until(f"{STATUS}.includes('may have it already')")
        eventually(lambda: prompts(world)[-1] == "third")
        enter(browser, " changed")
        browser.until(f"{STATUS}.includes('already had your message')")
        assert browser.value(BOX) == "third changed"
        assert line.keys[-1] == line.keys[-2]
        browser.until("document.getElementById('send').textContent === 'Send'")
        enter(browser)  # an answer came: this is another message
        eventually(lambda: prompts(world) == ["first", "second", "third", "third changed"])
        assert line.keys[-1] != line.keys[-2]
        assert len(world.sessions) == 1
    served.stop()
