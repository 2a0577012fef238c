"""The server over a fleet in PostgreSQL: the same routes and streams, and workers of their own do the work.

Skipped where there is no PostgreSQL.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import World, bash
from page_server import Served

from holdfast.errors import StorageFailed
from holdfast.testing.script import Hold, Say
from polling import eventually
from skips import imported, require

servers = imported("fleet.servers")
database = imported("holdfast.fleet.postgres.database")


@pytest.fixture
def store_url() -> Iterator[str]:
    require("postgresql")
    with servers.own_server() as server, servers.fresh_database(server.url, engine=True) as url:
        yield url


def test_a_session_of_a_fleet_over_http(one_world: World, store_url: str) -> None:
    world = one_world
    world.one_past = False  # its journals are not in this home
    world.script(
        (Say("I run it."), bash("touch ran")), (Say("It ran."),), (Say("half"), Hold("never")), (Say("again"),)
    )
    served = Served(world, ("--store", store_url))
    worker = world.start("worker", "--store", store_url, "--ttl", "3", "-m", world.model)
    eventually(lambda: served.get("/status")["workers"])
    place = {"kind": "folder", "cwd": str(world.folder)}
    key = {"idempotency-key": "once"}
    body = {"prompt": "run it", "place": place}
    ids = {served.client.post("/sessions", json=body, headers=key).json()["id"] for _ in range(2)}
    (session,) = ids
    call = served.wait_for_question(session)
    assert served.state(session) == "asking"
    served.ask(session, "answer", question=call, choice="once")
    served.finished(session)
    assert (world.folder / "ran").exists()
    (row,) = [each for each in served.inbox(session) if each["kind"] == "prompt"]
    assert row["sender"] == "me"

    expected = served.until(session, "turn-ended")
    assert [each.id for each in expected] == list(range(1, len(expected) + 1))
    for cut in (0, 1, len(expected) // 2, len(expected) - 1):
        last = expected[cut - 1].id if cut else 0
        rest: list[object] = []
        for each in served.events(session, last=last):
            rest.append(each)
            if each.data["entry"]["kind"] == "turn-ended":
                break
        assert expected[:cut] + rest == expected
    first = next(served.events(session, query={"as": "page"}))
    assert first.data == {"type": "reset"}
    assert served.get(f"/sessions/{session}/export", form="json")["session"] == session
    assert "holdfast_workers 1" in served.client.get("/metrics").text
    assert served.client.get("/sessions/none").status_code == 404

    # The worker is killed in a turn; another one goes on, and the prompt is recorded once.
    served.ask(session, "prompt", text="second")
    eventually(lambda: len(world.provider.requests) == 3)
    worker.kill()
    world.start("worker", "--store", store_url, "--ttl", "3", "-m", world.model)
    eventually(lambda: len(world.provider.requests) == 4)
    served.finished(session)
    prompts = [each for each in _entries(served, session) if each["kind"] == "prompt-accepted"]
    assert [each["text"] for each in prompts if not each["text"].startswith("[holdfast")] == ["run it", "second"]
    assert served.stop().code == 0


def _entries(served: Served, session: str) -> list[dict[str, str]]:
    return [each["entry"] for each in served.get(f"/sessions/{session}/export", form="json")["records"]]


def test_a_store_that_is_no_fleet_is_refused_in_a_sentence(one_world: World, tmp_path: Path) -> None:
    ran = one_world.run("serve", "--port", "0", "--store", f"postgresql:///none?host={tmp_path}")
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert ran.err.startswith("holdfast: ")


def test_a_thread_id_that_is_a_path_removes_nothing(one_world: World, store_url: str, tmp_path: Path) -> None:
    """A token that may only ask begins sessions; whatever it sends, no folder of the worker's user is touched."""
    world = one_world
    world.one_past = False
    world.script((Say("done"),))
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").write_text("kept")
    repository = world.folder / "origin.git"
    commit = ["-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-q", "--allow-empty", "-m", "first"]
    for words in (["init", "-q", "-b", "main", str(repository)], ["-C", str(repository), *commit]):
        subprocess.run(["git", *words], check=True, capture_output=True)
    served = Served(world, ("--store", store_url))
    worker = world.start("worker", "--store", store_url, "--ttl", "3", "-m", world.model)
    eventually(lambda: served.get("/status")["workers"])
    place = {"kind": "worktree", "repo": str(repository)}
    up = "../" * 12
    for thread in (str(victim), f"{up}{str(victim)[1:]}", "..", "a/b", "", "x" * 500, "a\x00b", "-x"):
        answer = served.client.post(
            "/ag-ui",
            json={
                "threadId": thread,
                "runId": "r",
                "messages": [{"id": "1", "role": "user", "content": "go"}],
                "forwardedProps": {"place": place},
            },
            timeout=20,
        )
        assert (answer.status_code, "not valid" in answer.text) == (400, True), (thread, answer.text)
    begun = served.client.post("/sessions", json={"place": place}).json()["id"]
    for text in ("a\x00b", "\\\x00"):
        answer = served.client.post(f"/sessions/{begun}/inbox", json={"kind": "prompt", "text": text})
        assert (answer.status_code, "NUL" in answer.text) == (400, True), answer.text
    for bad in ({**place, "saved": "x"}, {**place, "base": "--orphan"}, {"kind": "worktree", "repo": "ext::touch x"}):
        assert served.client.post("/sessions", json={"prompt": "go", "place": bad}).status_code == 400
    record = database.Database(store_url)
    with pytest.raises(StorageFailed, match="is not valid"):  # the record's own wall
        record.call("select holdfast.make_session(%s, '{}', '{}')", str(victim))
    record.call("select holdfast.enqueue(%s, null)", str(victim))  # what else names it is refused by the worker
    record.close()
    begun = served.client.post("/sessions", json={"prompt": "go", "place": place}).json()["id"]
    served.finished(begun)
    eventually(lambda: "is not a session's ID" in worker.so_far.err)
    assert (victim / "precious").read_text() == "kept"
    outside = served.client.post("/sessions", json={"prompt": "go", "place": {"cwd": str(victim)}}).json()["id"]
    eventually(lambda: served.get(f"/sessions/{outside}")["state"] == "held")
    assert "is not served by this worker" in served.get(f"/sessions/{outside}")["held"]
    assert served.stop().code == 0
