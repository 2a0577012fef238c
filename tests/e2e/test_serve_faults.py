"""The server while its PostgreSQL takes no connection: every answer says so, every stream ends, none is a traceback.

Skipped where there is no PostgreSQL.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from launching import World
from page_server import Served, parsed, split_events

from holdfast.ui.service.page import SAFE_HEADERS
from launcher import PRODUCT
from polling import HANGS, eventually
from skips import imported, require

servers = imported("fleet.servers")
database = imported("holdfast.fleet.postgres.database")

IMPATIENT = (
    "from holdfast.fleet.postgres.database import Database\n"
    "Database.__init__.__kwdefaults__['patience'] = 2.0\n" + PRODUCT
)
"""A server that waits two seconds for a database, not ten."""


@pytest.fixture
def small_server() -> Iterator[tuple[Any, str]]:
    require("postgresql")
    with servers.own_server(connections=24) as server, servers.fresh_database(server.url) as url:
        yield server, url


def test_without_a_free_connection_each_answer_is_503_and_each_stream_ends(
    one_world: World, small_server: tuple[Any, str]
) -> None:
    server, url = small_server
    one_world.one_past = False
    served = Served(one_world, ("--store", url), program=IMPATIENT)
    place = {"kind": "folder", "cwd": str(one_world.folder)}
    session = served.begin("go", place=place)
    run_input = {
        "threadId": "thread-1",
        "runId": "r1",
        "messages": [{"id": "1", "role": "user", "content": "go"}],
        "forwardedProps": {"place": place},
    }
    asked: list[tuple[str, str, Any]] = [
        ("GET", "/healthz", None),
        ("GET", "/status", None),
        ("GET", "/metrics", None),
        ("GET", "/sessions", None),
        ("GET", f"/sessions/{session}", None),
        ("GET", f"/sessions/{session}/inbox", None),
        ("GET", f"/sessions/{session}/export", None),
        ("GET", f"/sessions/{session}/events?as=page", None),
        ("POST", "/sessions", {"prompt": "go"}),
        ("POST", f"/sessions/{session}/inbox", {"kind": "prompt", "text": "go"}),
        ("POST", "/ag-ui", {**run_input, "threadId": "thread-2"}),
    ]
    with ThreadPoolExecutor() as threads:
        watched = watch(served, session)
        assert next(watched) == {"type": "reset"}  # a session without an entry yet is watched, too
        run = threads.submit(lambda: of_run(served, run_input))
        eventually(lambda: len(served.get("/sessions")["sessions"]) == 2)
        with server.all_connections():
            answers: list[Future[httpx2.Response]] = [
                threads.submit(served.client.request, method, path, json=body) for method, path, body in asked
            ]
            for (_, path, _), future in zip(asked, answers, strict=True):
                answer = future.result(HANGS)
                assert answer.status_code == 503, (path, answer.text)
                assert "reach" in answer.json()["error"] or "PostgreSQL did not answer" in answer.json()["error"]
                assert {name: answer.headers.get(name) for name in SAFE_HEADERS} == SAFE_HEADERS, path
            assert served.client.get("/me").status_code == 200  # what needs no database goes on
            begun, failed = run.result(HANGS)
            assert (begun["type"], begun["runId"]) == ("RUN_STARTED", "r1")
            assert (failed["type"], failed["code"]) == ("RUN_ERROR", "unavailable")
            assert "Send the run again" in failed["message"]
        eventually(lambda: served.client.get("/healthz").status_code == 200)
        assert [each["kind"] for each in served.inbox(session)] == ["prompt"]  # what was refused was not done
        watched.close()
    ran = served.stop()
    assert (ran.code, "Traceback" in ran.err, "cannot be read on" in ran.err) == (0, False, True), ran.err


def watch(served: Served, session: str) -> Generator[Any]:
    """Yield what the page is sent, event by event."""
    for each in served.events(session, query={"as": "page"}):
        yield each.data


def of_run(served: Served, run_input: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a run; its stream must end in order."""
    with served.client.stream("POST", "/ag-ui", content=json.dumps(run_input)) as response:
        assert response.status_code == 200
        return [each.data for each in map(parsed, split_events(response.iter_bytes())) if each is not None]


def test_a_stream_of_a_session_that_cannot_be_read_ends_in_order(
    one_world: World, small_server: tuple[Any, str]
) -> None:
    """The session is found, and its entries are not: the stream has begun by then."""
    _, url = small_server
    one_world.one_past = False
    served = Served(one_world, ("--store", url), program=IMPATIENT)
    session = served.begin("go", place={"kind": "folder", "cwd": str(one_world.folder)})
    record = database.Database(url)
    record.call("alter table holdfast.entry rename to lost")
    record.close()
    assert list(served.raw(session)) == []  # a stream that is cut would be an error of the client
    ran = served.stop()
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
    assert "/events: the stream ended early. The record in PostgreSQL refused a statement" in ran.err


def test_a_fleet_without_a_free_connection_says_so_in_a_sentence(
    one_world: World, small_server: tuple[Any, str]
) -> None:
    server, url = small_server
    with server.all_connections():
        for words in (("fleet", "init"), ("fleet", "status"), ("serve", "--port", "0")):
            ran = one_world.run(*words, "--store", url, program=IMPATIENT)
            assert (ran.code, "Traceback" in ran.err) == (1, False), ran.err
            assert ran.err.startswith("holdfast: PostgreSQL did not answer or accept it for 2 s: "), ran.err
            assert "See whether the server runs and has room" in ran.err
