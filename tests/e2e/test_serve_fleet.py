"""The server over a fleet in PostgreSQL: the same routes and streams, and workers of their own do the work.

Skipped where there is no PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import World, bash
from page_server import Served

from holdfast.testing.script import Hold, Say
from polling import eventually
from skips import imported, require

servers = imported("fleet.servers")


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
    served.ask(session, "answer", call=call, allowed=True)
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
