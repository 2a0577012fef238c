"""A command of a worker's session freezes the process that supervises it: a stop, and a takeover, still end it."""

from __future__ import annotations

from pathlib import Path

import pytest
from worker_programs import Workers

from holdfast.fleet.worker.session_driver import GO_ON
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import eventually

FREEZE = "kill -STOP $PPID; echo $$ > began; sleep 300"


def began(work: Path) -> Path:
    """Return the folder of the process of the command, once it has frozen its supervisor."""
    file = work / "began"
    eventually(lambda: file.exists() and file.read_text().strip())
    return Path("/proc", file.read_text().strip())


@pytest.mark.parametrize("ends", ["a stop", "the death of its worker"])
def test_a_frozen_supervisor_holds_no_session_and_leaves_no_command(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path, ends: str
) -> None:
    first = workers.start()
    provider.extend([Call("bash", {"command": FREEZE})], [Say("went on")])
    session = workers.session(tmp_path / "work", "freeze")
    process = began(tmp_path / "work")
    if ends == "a stop":
        workers.fleet.ask(session, "stop", {})
    else:
        workers.start()
        first.kill()
    workers.until(session, "idle", free=True)
    eventually(lambda: not process.exists())
    entries = [record.entry for record in workers.fleet.reading(session).records]
    causes = [entry.cause for entry in entries if isinstance(entry, e.TurnEnded)]
    prompts = [entry.text for entry in entries if isinstance(entry, e.PromptAccepted)]
    outcomes = [entry.outcome for entry in entries if isinstance(entry, e.CallEnded)]
    assert len(outcomes) == 1, "the call has one fate"
    if ends == "a stop":
        assert (causes, prompts) == (["user"], ["freeze"])
        provider.extend([Say("the next turn works")])
        workers.fleet.ask(session, "prompt", {"text": "next"})
        eventually(lambda: workers.fleet.session(session).state == "idle" and not workers.fleet.session(session).asking)
        eventually(lambda: all(row.done for row in workers.fleet.inbox(session)))
    else:
        assert (causes, prompts) == (["crash", "finished"], ["freeze", GO_ON])
    assert workers.fleet.session(session).held == ""


def test_twenty_sessions_pass_through_one_slot(workers: Workers, provider: ScriptedProvider, tmp_path: Path) -> None:
    """One worker of one slot drives them all, one after the other, and keeps none."""
    count = 20
    workers.start("--slots", "1")
    provider.extend(*([Say(f"answer {number}")] for number in range(count)))
    sessions = [workers.session(tmp_path / f"work{number}", "go") for number in range(count)]
    for session in sessions:
        workers.until(session, "idle", free=True)
        ends = [r.entry.cause for r in workers.fleet.reading(session).records if isinstance(r.entry, e.TurnEnded)]
        assert ends == ["finished"]
    (worker,) = workers.fleet.status().workers
    assert (worker.slots, worker.holds) == (1, 0)
