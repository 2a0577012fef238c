"""Bad requests to the local server: each gets a true status and the safe headers, and none ends up as a traceback."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from launching import World
from page_server import Served, parsed, split_events

from holdfast.testing.script import Say
from holdfast.ui.service.page import SAFE_HEADERS

DIGITS = "9" * 5_000
LONG = "x" * 3_000


def run(thread: str = "t-1", **more: Any) -> dict[str, Any]:
    return {"threadId": thread, "runId": "r", "messages": [{"role": "user", "content": "hi"}], **more}


def test_a_bad_request_gets_a_true_status_and_the_safe_headers(one_world: World) -> None:
    world = one_world
    (world.folder / "loop").symlink_to(world.folder / "loop")
    served = Served(world)
    session = served.begin()
    inbox = f"/sessions/{session}/inbox"
    asked: list[tuple[str, str, Any]] = [
        ("GET", f"/sessions?limit={DIGITS}", None),
        ("GET", "/sessions?limit=%C2%B2", None),
        ("GET", f"{inbox}?after={DIGITS}", None),
        ("GET", f"/sessions/{session}/events?after={DIGITS}", None),
        ("GET", "/sessions?state=%00", None),
        ("GET", "/sessions/a%00b", None),
        ("GET", "/sessions/a%2fb", None),
        ("GET", f"/sessions/{LONG}", None),
        ("GET", f"/sessions/{LONG}/inbox", None),
        ("GET", f"/sessions/{LONG}/events", None),
        ("GET", f"/sessions/{LONG}/export", None),
        ("POST", f"/sessions/{LONG}/inbox", {"kind": "stop"}),
        ("POST", "/sessions", {"place": {"cwd": "loop"}}),
        ("POST", "/sessions", {"place": {"cwd": "a\x00b"}}),
        ("POST", "/sessions", {"place": {"cwd": LONG}}),
        ("POST", "/sessions", {"place": {"cwd": "\ud800"}}),
        ("POST", "/sessions", {"model": "a\x00b"}),
        ("POST", "/sessions", {"model": LONG}),
        ("POST", inbox, {"kind": "recall"}),
        ("POST", inbox, {"kind": "prompt", "text": "\ud800"}),
        ("POST", inbox, {"kind": "prompt", "text": "a\x00b"}),
        ("POST", inbox, {"kind": "steer", "text": "\\\x00"}),
        ("POST", inbox, {"kind": [1]}),
        ("POST", inbox, b'{"kind": "recall", "id": ' + DIGITS.encode() + b"}"),
        ("POST", inbox, b"[" * 100_000),
        ("POST", "/ag-ui", run(LONG)),
        ("POST", "/ag-ui", run("a\x00b")),
        ("POST", "/ag-ui", run("../../x")),
        ("POST", "/ag-ui", run("")),
        ("POST", "/ag-ui", run(forwardedProps={"place": {"cwd": "loop"}})),
    ]
    for method, path, body in asked:
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = served.client.request(method, path, content=data)
        assert 400 <= answer.status_code < 500, (method, path[:80], str(body)[:80], answer.status_code, answer.text)
        expect_safe(answer)
    escaped = {"kind": "rename", "title": r"a\u0000b \\u0000"}
    assert served.client.post(inbox, json=escaped).status_code == 202
    for path, headers in (
        (f"/sessions/{session}/events", {"last-event-id": DIGITS}),
        (f"/sessions/{session}/events", {"last-event-id": "-1"}),
        ("/sessions", {"host": "[::1"}),
        ("/sessions", {"origin": "http://[x"}),
    ):
        answer = served.client.get(path, headers=headers)
        assert 400 <= answer.status_code < 500, (path, headers, answer.status_code)
        expect_safe(answer)
    for path in ("/nowhere", "/sessions", "/"):
        expect_safe(served.client.delete(path))
    expect_safe(served.client.get("/"))
    ran = served.stop()
    assert (ran.code, ran.err) == (0, "")


def expect_safe(answer: httpx2.Response) -> None:
    for name, value in SAFE_HEADERS.items():
        if name == "content-security-policy":
            assert answer.headers[name].startswith("default-src 'none'")
        else:
            assert answer.headers[name] == value


@pytest.mark.parametrize("damage", ["folder", "link loop"])
def test_a_session_that_cannot_be_read_stops_no_other_stream(one_world: World, damage: str) -> None:
    world = one_world
    world.script((Say("One."),), (Say("Two."),), (Say("Three."),))
    world.one_past = False
    served = Served(world, ("--linger", "0"))
    broken, session = served.begin("first"), served.begin("second")
    for each in (broken, session):
        served.until(each, "turn-ended")
    served.stop()
    served.start()
    seen = len(world.entries(world.home / "sessions" / session))
    with (
        served.client.stream("GET", f"/sessions/{broken}/events", params={"after": 9999}),
        served.client.stream("GET", f"/sessions/{session}/events", params={"after": seen}) as stream,
    ):
        database = world.home / "sessions" / broken / "session.db"
        database.rename(database.with_name("aside"))
        if damage == "folder":
            database.mkdir()
        else:
            database.symlink_to(database)
        # Another program continues the other session: the server sees it only by its look at all lengths.
        elsewhere = world.start("-p", "go on", "-r", session)
        assert elsewhere.wait().code == 0
        events = (parsed(each) for each in split_events(stream.iter_bytes()))
        kinds = (each.data["entry"]["kind"] for each in events if each is not None)
        assert "turn-ended" in kinds
    database.rmdir() if damage == "folder" else database.unlink()
    database.with_name("aside").rename(database)
    ran = served.stop()
    assert ran.code == 0
    assert ran.err.count("cannot be read") == 1
