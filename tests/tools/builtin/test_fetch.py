"""`fetch` against a real server on this machine, reached by names that a test resolves as it likes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from holdfast.errors import ToolFailed
from holdfast.tools.approval.decision import Allow, Ask, Policy, decide
from holdfast.tools.approval.patterns import suggest_patterns
from holdfast.tools.builtin.fetch import FetchTool
from holdfast.tools.tool import ToolContext, ToolOutput
from polling import eventually, expect_within
from tool_harness import called, planned, ran

HOST = "pages.example"


@dataclass
class Site:
    """A server; what it answers is given by path as status, headers and body."""

    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(
        default_factory=dict[str, tuple[int, dict[str, str], bytes]]
    )
    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    looked_up: list[str] = field(default_factory=list[str])
    addresses: tuple[str, ...] = ("127.0.0.1",)
    port: int = 0
    go_on: threading.Event = field(default_factory=threading.Event)

    def url(self, path: str, host: str = HOST) -> str:
        return f"http://{host}:{self.port}{path}"

    def tool(self, *networks: str) -> FetchTool:
        tool = FetchTool(look_up=self.look_up)
        tool.networks = networks
        return tool

    def look_up(self, host: str, port: int) -> list[str]:
        del port
        self.looked_up.append(host)
        return list(self.addresses)

    def fetch(self, path: str, **more: object) -> ToolOutput:
        return called(self.tool("127.0.0.0/8"), url=self.url(path), **more)


@pytest.fixture
def site() -> Generator[Site]:
    site = Site()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.requests.append((self.headers["Host"], self.path))
            status, headers, body = site.pages.get(self.path, (404, {"Content-Type": "text/plain"}, b"nothing"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            if self.path == "/slow":
                self.wfile.flush()
                site.go_on.wait(20)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.daemon_threads = True
    site.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield site
    site.go_on.set()
    server.shutdown()
    thread.join()
    server.server_close()


def page(body: bytes, kind: str = "text/plain", status: int = 200, **headers: str) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": kind, **headers}, body


def moved(to: str) -> tuple[int, dict[str, str], bytes]:
    return page(b"", status=302, Location=to)


def test_a_page_is_asked_of_the_address_that_was_judged_under_its_own_name(site: Site) -> None:
    site.pages["/a?b=c"] = page(b"<h1>Hello</h1>", "text/html; charset=utf-8")
    output = site.fetch("/a?b=c#part")
    assert output == ToolOutput(text=f"[{site.url('/a?b=c')}: 200 OK, text/html]\n# Hello")
    assert site.requests == [(f"{HOST}:{site.port}", "/a?b=c")]
    assert site.looked_up == [HOST]


@pytest.mark.parametrize("addresses", [("127.0.0.1",), ("1.1.1.1", "127.0.0.1"), ("::ffff:127.0.0.1",)])
def test_a_host_with_an_address_that_is_not_public_is_not_asked(site: Site, addresses: tuple[str, ...]) -> None:
    site.addresses = addresses
    with pytest.raises(ToolFailed, match=r"not a public address.*Nothing was sent"):
        called(site.tool(), url=site.url("/a"))
    assert site.requests == []


def test_a_name_that_leads_elsewhere_once_it_was_judged_is_asked_where_it_was_judged(site: Site) -> None:
    """The rebinding of a name: its server answers with an allowed address first, and with an inner one at once."""
    site.pages["/a"] = page(b"as judged")
    found = iter([["127.0.0.1"], ["127.0.0.2"]])
    tool = FetchTool(look_up=lambda _host, _port: next(found))
    tool.networks = ("127.0.0.1/32",)
    assert called(tool, url=site.url("/a")).text.endswith("as judged")
    assert next(found) == ["127.0.0.2"]  # it was not looked up a second time
    assert site.requests == [(f"{HOST}:{site.port}", "/a")]


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "[::1]", "0x7f.0.0.1"])
def test_names_of_this_machine_are_seen_through(site: Site, host: str) -> None:
    with pytest.raises(ToolFailed, match=r"not a public address|cannot be resolved|Address .* is invalid"):
        called(FetchTool(), url=site.url("/a", host))
    assert site.requests == []


def test_each_redirect_is_looked_up_and_judged_again(site: Site) -> None:
    site.pages["/a"] = moved("/b")
    tool = site.tool("127.0.0.0/8")
    found = iter([["127.0.0.1"], ["169.254.169.254"]])
    tool = FetchTool(look_up=lambda _host, _port: next(found))
    tool.networks = ("127.0.0.0/8",)
    with pytest.raises(ToolFailed, match=r"is at 169\.254\.169\.254"):
        called(tool, url=site.url("/a"))
    assert [path for _, path in site.requests] == ["/a"]


def test_redirects_are_followed_on_the_same_host_only_and_not_for_ever(site: Site) -> None:
    site.pages |= {
        "/a": moved("b"),
        "/b": page(b"here"),
        "/out": moved("http://other.example/x"),
        "/loop": moved("/loop"),
    }
    assert site.fetch("/a").text == f"[{site.url('/b')}: 200 OK, text/plain]\nhere"
    assert site.fetch("/out").text == (
        f"Page {site.url('/out')!r} redirects to 'http://other.example/x'. Fetch that address if you need it."
    )
    with pytest.raises(ToolFailed, match="redirects more than 5 times"):
        site.fetch("/loop")
    assert set(site.looked_up) == {HOST}
    site.pages["/file"] = moved("file:/etc/passwd")
    with pytest.raises(ToolFailed, match=r"expected http:// or https://"):
        site.fetch("/file")
    for number, invalid in enumerate(("http://[::1", "http://x.example/\x7f", "http://127.0.0.1:port/", "//u:p@x/")):
        site.pages[f"/odd{number}"] = moved(invalid)
        with pytest.raises(ToolFailed, match=r"is invalid|contains a user name"):
            site.fetch(f"/odd{number}")


@pytest.mark.parametrize("url", ["file:/etc/passwd", "ftp://a.example/", "//a.example", "a.example", "http://", "x:y"])
def test_what_is_no_address_of_a_page_is_refused_before_any_request(url: str) -> None:
    with pytest.raises(ToolFailed, match=r"expected http:// or https://"):
        planned(FetchTool(), url=url)


def test_an_address_with_a_user_in_it_is_refused() -> None:
    with pytest.raises(ToolFailed, match="contains a user name"):
        planned(FetchTool(), url="https://good.example@bad.example/")


def test_an_error_of_the_server_is_a_failed_call_with_its_words(site: Site) -> None:
    output = site.fetch("/no")
    assert (output.ok, output.text) == (False, f"[{site.url('/no')}: 404 Not Found, text/plain]\nnothing")


def test_what_is_no_text_is_refused_in_words(site: Site) -> None:
    site.pages["/a"] = page(b"\x89PNG", "image/png")
    with pytest.raises(ToolFailed, match="is image/png, not text"):
        site.fetch("/a")


def test_a_long_text_comes_in_parts_and_a_huge_one_is_cut(site: Site) -> None:
    site.pages["/a"] = page(b"".join(b"%07d\n" % n for n in range(300_000)))
    first = site.fetch("/a").text
    assert first.endswith(
        "\n[Characters 0 to 60000 of 1999999 are shown. Read on with offset=60000.]"
        "\n[Only the first 2000000 bytes of the page were read.]"
    )
    assert site.fetch("/a", offset=60_000).text.partition("\n")[2].startswith("0007500\n")
    assert (
        "[There is nothing from character 2000000 on: the text has 1999999.]" in site.fetch("/a", offset=2_000_000).text
    )


def test_a_stop_ends_a_download_at_once_and_says_what_had_come(site: Site) -> None:
    site.pages["/slow"] = page(b"x" * 100)
    plan = planned(site.tool("127.0.0.0/8"), url=site.url("/slow"))

    async def run() -> ToolOutput:
        stop = asyncio.Event()
        running = asyncio.ensure_future(plan.run(ToolContext(call="c", stop=stop, emit=lambda _: None)))
        await asyncio.to_thread(eventually, lambda: site.requests)
        stop.set()
        return await running

    before = time.monotonic()
    output = asyncio.run(run())
    expect_within(10, before)
    assert output.interrupted
    assert "was not received yet" in output.text or "was received in part: 100 bytes" in output.text


def test_a_server_that_is_not_there_is_said(site: Site) -> None:
    site.addresses = ("127.0.0.3", "127.0.0.2")
    with pytest.raises(ToolFailed, match=r"cannot be fetched: ConnectError"):
        site.fetch("/a")
    site.addresses = ()
    with pytest.raises(ToolFailed, match="it has no address"):
        site.fetch("/a")
    site.addresses = ("127.0.0.3", "127.0.0.1")
    site.pages["/a"] = page(b"x")
    assert site.fetch("/a").ok


def test_a_host_is_asked_about_until_it_is_allowed() -> None:
    plan = planned(FetchTool(), url="https://Docs.Example/a?q=1")
    assert decide(plan, Policy("ask")) == Ask(
        "The call 'fetch https://docs.example/a?q=1' asks 'docs.example' over the network."
    )
    (pattern,) = suggest_patterns(plan).patterns
    for mode in ("ask", "accept-edits", "plan"):
        assert isinstance(decide(plan, Policy(mode)), Ask)
        assert decide(plan, Policy(mode, (pattern,))) == Allow()
    other = planned(FetchTool(), url="https://docs.example.org/")
    assert isinstance(decide(other, Policy("ask", (pattern,))), Ask)
    assert decide(other, Policy("yolo")) == Allow()


def test_a_fetch_that_is_stopped_before_it_begins_waits_for_no_server(site: Site) -> None:
    site.pages["/slow"] = page(b"")
    output = ran(planned(site.tool("127.0.0.0/8"), url=site.url("/slow")), stopped=True)
    assert output.interrupted
