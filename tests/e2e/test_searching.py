"""`search` in a real agent: offered once it is configured, asked about, and its key is nowhere but at the service."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from launching import CONFIG, World, bash
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.session.journal.entries import ApprovalAsked, SessionOpened
from holdfast.testing.script import Call, Say
from holdfast.tool_calls import Pattern

KEY = "tvly-test-of-the-search-0001"
RESULT = "1. The answer\n   https://a.example/\n   It is 42."


@dataclass
class Tavily:
    """The service: it knows one key."""

    port: int = 0
    keys: list[str] = field(default_factory=list[str])

    @property
    def config(self) -> str:
        return f'{CONFIG}[search]\nservice = "tavily"\naddress = "http://127.0.0.1:{self.port}"\n'


@pytest.fixture
def tavily() -> Generator[Tavily]:
    tavily = Tavily()
    found = {"results": [{"title": "The answer", "url": "https://a.example/", "content": "It is 42."}]}

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            tavily.keys.append(self.headers["Authorization"])
            knows = self.headers["Authorization"] == f"Bearer {KEY}"
            self.send_response(200 if knows else 401)
            self.end_headers()
            self.wfile.write(json.dumps(found if knows else {"detail": self.headers["Authorization"]}).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    tavily.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield tavily
    server.shutdown()
    thread.join()
    server.server_close()


def files_with(world: World, text: str) -> list[str]:
    """Return the files of the home that have these bytes."""
    raw = text.encode()
    return sorted(each.name for each in world.home.rglob("*") if each.is_file() and raw in each.read_bytes())


def test_the_key_goes_to_the_service_and_nowhere_else(one_world: World, tavily: Tavily) -> None:
    (one_world.home / "config.toml").write_text(tavily.config)
    one_world.script([Call("WebSearch", {"query": "the answer"})], [bash("env")], [Say("It is 42.")])
    environ = one_world.environ(TAVILY_API_KEY=KEY)
    ran = one_world.ask("search", "--debug", "--output-format", "stream-json", environ=environ)
    assert ran.code == 0, ran.err
    assert one_world.results[0] == f"{RESULT}\n[Tool 'WebSearch' is 'search' here.]"
    assert tavily.keys == [f"Bearer {KEY}"]
    assert "HOME=" in one_world.results[1]
    assert KEY not in "\n".join((*one_world.results, ran.out, ran.err))
    assert files_with(one_world, KEY) == []
    one_world.verify()


def test_a_refused_key_is_not_repeated(one_world: World, tavily: Tavily) -> None:
    (one_world.home / "config.toml").write_text(tavily.config)
    one_world.script([Call("search", {"query": "the answer"})], [Say("I could not search.")])
    ran = one_world.ask("search", environ=one_world.environ(TAVILY_API_KEY="tvly-a-wrong-key-0002"))
    assert ran.code == 0, ran.err
    assert "refuses the key in TAVILY_API_KEY (401)" in one_world.results[0]
    assert files_with(one_world, "tvly-a-wrong-key-0002") == []


def test_a_session_keeps_the_tools_it_began_with(one_world: World, tavily: Tavily) -> None:
    call = [Call("search", {"query": "the answer"})]
    one_world.script(call, [Say("no")], call, [Say("still no")])
    one_world.ask("search")
    assert one_world.results[0].startswith("Tool 'search' does not exist")
    (one_world.home / "config.toml").write_text(tavily.config)
    one_world.go_on(environ=one_world.environ(TAVILY_API_KEY=KEY))
    assert one_world.results[1].startswith("Tool 'search' does not exist")
    (opened,) = [entry for entry in one_world.entries() if isinstance(entry, SessionOpened)]
    assert "search" not in {tool.name for tool in opened.tools}
    assert tavily.keys == []


def test_without_its_configuration_a_session_that_could_search_says_so(one_world: World, tavily: Tavily) -> None:
    (one_world.home / "config.toml").write_text(tavily.config)
    call = [Call("search", {"query": "the answer"})]
    one_world.script([Say("hello")], call, [Say("I cannot")])
    one_world.ask("hello")
    (one_world.home / "config.toml").write_text(CONFIG)
    one_world.go_on(environ=one_world.environ(TAVILY_API_KEY=KEY))
    assert one_world.results[0].startswith("Web search is not configured in this run")


def test_its_first_use_asks_and_the_rule_that_allows_it_is_named(one_world: World, tavily: Tavily) -> None:
    (one_world.home / "config.toml").write_text(tavily.config)
    call = [Call("search", {"query": "the answer"})]
    one_world.script(call, [Say("denied")], call, [Say("found")])
    environ = one_world.environ(TAVILY_API_KEY=KEY)
    ran = one_world.run("-m", one_world.model, "-p", "search", environ=environ)
    (question,) = [entry for entry in one_world.entries() if isinstance(entry, ApprovalAsked)]
    assert question.question.patterns == (Pattern(effect="read", text="127.0.0.1"),)
    assert "--allow 'WebFetch(domain:127.0.0.1)'" in ran.err
    assert tavily.keys == []
    ran = one_world.run("-c", "-p", "go on", "--allow", "WebSearch", environ=environ)
    assert ran.code == 0, ran.err
    assert one_world.results[1] == RESULT


def test_the_user_sees_the_query_the_server_and_what_was_found(one_world: World, tavily: Tavily) -> None:
    (one_world.home / "config.toml").write_text(tavily.config)
    one_world.script([Call("search", {"query": "the answer"})], [Say("It is 42.")])
    with screen(one_world, "-m", one_world.model, TAVILY_API_KEY=KEY) as terminal:
        terminal.wait_text("ask · shift")
        terminal.line("search")
        terminal.wait_text(r"(?s)Search 'the answer'\?.*1  Allow once.*pages from 127\.0\.0\.1")
        terminal.send("1")
        terminal.wait_text(r"It is 42\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_a_key_is_stored_like_those_of_providers_and_the_doctor_tells_the_service(
    one_world: World, tavily: Tavily
) -> None:
    (one_world.home / "config.toml").write_text(tavily.config)
    assert re.search(r"warn +search +tavily at 127\.0\.0\.1, no key", one_world.run("doctor").out)
    command = [sys.executable, "-m", "holdfast", "setup", "--search-key"]
    with Terminal(command, env=one_world.environ(), cwd=one_world.folder, columns=100) as terminal:
        terminal.wait_text("Key of tavily")
        terminal.send(f"{KEY}\r")
        terminal.wait_text("Key: stored in")
        assert KEY not in terminal.text()
        assert terminal.wait() == 0
    doctor = one_world.run("doctor")
    assert re.search(r"ok +search +tavily at 127\.0\.0\.1, TAVILY_API_KEY \((file|keyring)\)", doctor.out)
    assert KEY not in doctor.out
    one_world.script([Call("search", {"query": "the answer"})], [Say("It is 42.")])
    one_world.ask("search", "--debug")
    assert one_world.results == [RESULT]
    assert files_with(one_world, KEY) == ["holdfast-keys.json"]


def test_no_key_is_asked_for_where_none_is_needed(one_world: World) -> None:
    assert re.search(r"ok +search +not configured", one_world.run("doctor").out)
    (one_world.home / "config.toml").write_text(
        f'{CONFIG}[search]\nservice = "searxng"\naddress = "http://localhost:8888"\n'
    )
    assert re.search(r"ok +search +searxng at localhost, without a key", one_world.run("doctor").out)
    command = [sys.executable, "-m", "holdfast", "setup", "--search-key"]
    with Terminal(command, env=one_world.environ(), cwd=one_world.folder, columns=100) as terminal:
        terminal.wait_text("No search service that needs a key is configured")
        assert terminal.wait() == 2
