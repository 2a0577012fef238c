"""`fetch` in a real agent: a page of this machine is refused, and read once the settings name its address."""

from __future__ import annotations

import functools
import threading
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path

from launching import CONFIG, World

from holdfast.session.journal.entries import ApprovalAnswered, ApprovalAsked
from holdfast.testing.script import Call, Say


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        del format, args


def test_a_page_of_this_machine_is_read_if_the_user_allows_it(one_world: World, tmp_path: Path) -> None:
    world = one_world
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.html").write_text("<title>Hello</title><p>some <em>words</em>")
    server = HTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=pages))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        call = Call("fetch", {"url": f"http://127.0.0.1:{server.server_address[1]}/a.html"})
        world.script((call,), (Say("no"),), (call,), (Say("yes"),), (call,))
        world.ask("read it")
        (world.home / "config.toml").write_text(f'{CONFIG}[fetch]\naddresses = ["127.0.0.1"]\n')
        world.go_on()
        assert world.results[0].startswith("Host '127.0.0.1' is at 127.0.0.1, which is not a public address")
        assert world.results[1].endswith("/a.html: 200 OK, text/html]\n# Hello\n\nsome *words*")
        assert world.run("-c", "-p", "go on", "--on-approval", "stop").code == 3  # no user to ask
        approvals = [entry for entry in world.entries() if isinstance(entry, ApprovalAsked | ApprovalAnswered)]
        assert [isinstance(entry, ApprovalAsked) for entry in approvals] == [True]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
