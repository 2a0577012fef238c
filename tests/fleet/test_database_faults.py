"""After a fault of the database that passes, every session goes on by itself, and none waits for a user."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from kept_open import close_all
from servers import Server, fresh_database, own_server
from worker_programs import Workers

from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, ReceivedRequest, Reply, Say, Wait
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import eventually
from skips import require

PROMPTS = [f"prompt {number}" for number in range(12)]
BUFFERED = 5.0
"""Seconds after which no fault leaves work that could still be done."""
GOES_ON = 60.0
"""Seconds, without other load, after which all sessions are idle again."""

Fault = Callable[[Server], AbstractContextManager[None]]
FAULTS: dict[str, Fault] = {
    "a full disk": Server.full_disk,
    "a full disk, and no room for the log": Server.full_log,
    "read only": Server.read_only,
    "no connections": Server.no_connections,
    "away": Server.away,
}


@pytest.fixture
def server(whole_fleet: None) -> Iterator[Server]:
    del whole_fleet
    require("postgresql")
    require("small disk")
    with own_server(megabytes=400) as server:
        yield server


@pytest.fixture
def fault_workers(server: Server, provider: ScriptedProvider, tmp_path: Path) -> Iterator[Workers]:
    home = tmp_path / "home"
    home.mkdir()
    with fresh_database(server.url, engine=True) as url:
        created = Workers(url, home, provider.environ())
        try:
            yield created
        finally:
            created.close()
            close_all()


def reply(request: ReceivedRequest) -> Reply:
    """Return a command for a prompt, and an answer after its result."""
    if request.messages[-1]["role"] == "user":
        return (Wait(0.1), Call("bash", {"command": "echo x >> effects; sleep 0.3"}))
    return (Wait(0.1), Say("Done."))


@pytest.mark.parametrize("lasts", [1.0, 12.0])
@pytest.mark.parametrize("name", FAULTS)
def test_every_session_goes_on_after_a_fault(
    fault_workers: Workers, server: Server, tmp_path: Path, name: str, lasts: float
) -> None:
    workers = fault_workers
    with ScriptedProvider(after=reply) as model:
        workers.use(model.environ())
        started = [workers.start(), workers.start()]
        sessions = [workers.session(tmp_path / f"work{number}", *PROMPTS) for number in range(6)]
        eventually(lambda: any((tmp_path / f"work{number}" / "effects").exists() for number in range(6)))
        with FAULTS[name](server):
            time.sleep(lasts)  # the fault lasts that long; nothing is waited for
            if lasts > BUFFERED:
                done = sum(path.read_text().count("x") for path in tmp_path.glob("work*/effects"))
                assert 0 < done < len(PROMPTS) * len(sessions), "the fault stopped nothing, so nothing was tried"
        since = time.monotonic()
        eventually(lambda: {workers.fleet.session(each).state for each in sessions} == {"idle"}, GOES_ON)
        took = time.monotonic() - since
        print(f"{name} for {lasts:g} s: all idle after {took:.1f} s")  # noqa: T201 - shown with -s
        assert [each.poll() for each in started] == [None, None], "no worker ends because of it"
        for session in sessions:
            entries = [record.entry for record in workers.fleet.reading(session).records]
            texts = [entry.text for entry in entries if isinstance(entry, e.PromptAccepted)]
            assert [each for each in texts if not each.startswith("[holdfast")] == PROMPTS
            assert workers.fleet.session(session).held == ""
            assert all(row.done and not row.refused for row in workers.fleet.inbox(session))
