"""What a fleet promises, tried with real workers: one story for each way in which a worker leaves a session."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from worker_programs import Workers

from holdfast.fleet.worker.session_driver import GO_ON
from holdfast.session.journal import entries as e
from holdfast.testing.script import Call, Hold, Say
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import eventually
from tiers import DEEP


def kinds(workers: Workers, session: str) -> list[type[e.Entry]]:
    return [type(record.entry) for record in workers.fleet.reading(session).records]


def entries(workers: Workers, session: str) -> list[e.Entry]:
    return [record.entry for record in workers.fleet.reading(session).records]


def test_a_day_in_the_fleet(workers: Workers, provider: ScriptedProvider, tmp_path: Path) -> None:
    """Prompts in order; a question that parks the turn and is answered; a steer; a stop; a model; a rename."""
    workers.start(mode="--permission-mode=ask")
    command = Call("bash", {"command": "echo hi > made"})
    provider.extend([Say("first")], [Say("second")], [command], [Say("made it")])
    session = workers.session(tmp_path / "work", "one", "two", "make it")
    workers.until(session, "asking", free=True)
    (call,) = workers.fleet.session(session).asking
    assert not any(isinstance(entry, e.TurnEnded) and entry.turn == 3 for entry in entries(workers, session))
    waits = workers.fleet.ask(session, "prompt", {"text": "four"})
    assert workers.fleet.inbox(session, after=waits.id - 1)[0].done is None

    provider.extend([Say("four done")])
    wrong = workers.fleet.ask(session, "answer", {"question": "another", "choice": "once"})
    workers.fleet.ask(session, "answer", {"question": call, "choice": "once", "words": "go"}, sender="ana")
    workers.until(session, "idle", free=True)
    assert (tmp_path / "work" / "made").read_text() == "hi\n"
    prompts = [entry.text for entry in entries(workers, session) if isinstance(entry, e.PromptAccepted)]
    assert prompts == ["one", "two", "make it", "four"], [str(x)[:200] for x in entries(workers, session)[10:]]
    assert "There is no open question" in workers.fleet.inbox(session, after=wrong.id - 1)[0].refused

    provider.extend([Say("begin"), Hold("gate"), Say("never")])
    workers.fleet.ask(session, "prompt", {"text": "five"})
    provider.wait_for("gate", timeout=60)
    workers.fleet.ask(session, "later", {"text": "six"})
    eventually(lambda: e.Queued in kinds(workers, session))
    workers.fleet.ask(session, "stop", {}, sender="ana")
    workers.until(session, "idle", free=True)
    ended = [entry for entry in entries(workers, session) if isinstance(entry, e.TurnEnded)][-1]
    assert (ended.turn, ended.cause) == (5, "user")

    workers.fleet.ask(session, "rename", {"title": "A day"})
    workers.fleet.ask(session, "model", {"model": "openai-chat:n"})
    unknown = workers.fleet.ask(session, "recall", {"id": "q99"})
    eventually(lambda: workers.fleet.inbox(session, after=unknown.id - 1)[0].done)
    now = workers.fleet.session(session)
    assert (now.title, now.model, now.cwd) == ("A day", "openai-chat:n", str(tmp_path / "work"))
    assert all(row.done for row in workers.fleet.inbox(session))
    assert "no longer queued" in workers.fleet.inbox(session, after=unknown.id - 1)[0].refused


def test_a_killed_worker_is_noticed_and_its_turn_goes_on(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path
) -> None:
    first = workers.start()
    provider.extend([Call("bash", {"command": "echo $$ > began; sleep 300"})], [Say("went on")])
    session = workers.session(tmp_path / "work", "long work")
    began = tmp_path / "work" / "began"
    eventually(lambda: began.exists() and began.read_text())
    workers.start()
    first.kill()
    since = time.monotonic()
    eventually(lambda: any(isinstance(entry, e.TurnEnded) for entry in entries(workers, session)))
    settled = time.monotonic() - since
    workers.until(session, "idle", free=True)
    found = entries(workers, session)
    ended = [entry for entry in found if isinstance(entry, e.TurnEnded)]
    assert [entry.cause for entry in ended] == ["crash", "finished"]
    assert [entry.outcome for entry in found if isinstance(entry, e.CallEnded)] == ["interrupted"]
    assert [entry.text for entry in found if isinstance(entry, e.PromptAccepted)] == ["long work", GO_ON]
    assert workers.fleet.session(session).tries == 0
    assert not Path(f"/proc/{began.read_text().strip()}").exists(), "its command is gone with it"
    print(f"settled after {settled:.2f} s")  # noqa: T201 - shown with -s


def test_a_session_of_a_killed_worker_does_not_wait_for_a_slot(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path
) -> None:
    first = workers.start("--slots", "1")
    provider.extend([Say("begin"), Hold("lost"), Say("never")])
    session = workers.session(tmp_path / "lost", "long work", "and then")
    provider.wait_for("lost", timeout=60)
    workers.start("--slots", "1")
    provider.extend([Say("begin"), Hold("full"), Say("the slot is free")])
    other = workers.session(tmp_path / "full", "long work")
    provider.wait_for("full", timeout=60)
    waits = [workers.session(tmp_path / f"waits{number}", "wait") for number in range(5)]
    provider.extend([Say("went on")])
    first.kill()
    eventually(lambda: len([each for each in entries(workers, session) if isinstance(each, e.TurnEnded)]) == 2)
    workers.until(session, "waiting", free=True)  # its next prompt waits for a slot, as those of the others do
    found = entries(workers, session)
    assert [entry.cause for entry in found if isinstance(entry, e.TurnEnded)] == ["crash", "finished"]
    assert [entry.text for entry in found if isinstance(entry, e.PromptAccepted)] == ["long work", GO_ON]
    assert {workers.fleet.session(each).state for each in waits} == {"waiting"}
    assert workers.fleet.session(other).state == "running"
    provider.extend(*([Say("done")] for _ in range(len(waits) + 1)))
    provider.release("full")
    for each in (session, other, *waits):
        workers.until(each, "idle", free=True)


def test_a_stopped_worker_writes_nothing_and_comes_back_under_another_name(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path
) -> None:
    first = workers.start()
    provider.extend([Say("begin"), Hold("gate"), Say("of the zombie")], [Say("of the successor")])
    session = workers.session(tmp_path / "work", "go")
    provider.wait_for("gate", timeout=60)
    workers.start()
    old = workers.fleet.session(session).holder
    first.send_signal(signal.SIGSTOP)
    workers.until(session, "idle", free=True)
    first.send_signal(signal.SIGCONT)
    eventually(lambda: len(workers.fleet.status().workers) == 2)
    assert old not in {each.id for each in workers.fleet.status().workers}
    assert "of the zombie" not in str(entries(workers, session))
    assert [entry.cause for entry in entries(workers, session) if isinstance(entry, e.TurnEnded)] == [
        "crash",
        "finished",
    ]


def test_a_drained_worker_gives_its_turn_to_another(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path
) -> None:
    first = workers.start("--grace", "0.5")
    provider.extend([Say("begin"), Hold("gate"), Say("never")], [Say("went on")])
    session = workers.session(tmp_path / "work", "go")
    provider.wait_for("gate", timeout=60)
    first.terminate()
    assert first.wait(60) == 0
    found = [entry for entry in entries(workers, session) if isinstance(entry, e.TurnEnded)]
    assert [(entry.cause, entry.detail) for entry in found] == [("external", "the worker ends")]
    assert workers.fleet.session(session).state == "waiting"
    assert workers.fleet.status().workers == ()
    workers.start()
    workers.until(session, "idle", free=True)
    assert workers.fleet.session(session).tries == 0
    assert "went on" in str(entries(workers, session)[-2])


def test_a_session_in_which_five_workers_died_is_held_until_someone_asks(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path
) -> None:
    for _ in range(5):
        provider.extend([Call("bash", {"command": "kill -9 $(cat worker)"})])
    work = tmp_path / "work"
    work.mkdir()
    session = workers.session(work, "poison")
    for number in range(5):
        worker = workers.start()
        (work / "worker").write_text(str(worker.pid))
        eventually(lambda worker=worker: worker.poll() == -signal.SIGKILL, 120)
        assert workers.fleet.session(session).tries <= number
    worker = workers.start()
    workers.until(session, "held")
    assert "5 workers died" in workers.fleet.session(session).held
    provider.extend([Say("better")])
    workers.fleet.ask(session, "prompt", {"text": "something else"})
    workers.until(session, "idle", free=True)
    assert worker.poll() is None


def repository(folder: Path) -> Path:
    bare = folder / "origin.git"
    clone = folder / "seed"
    for words in (
        ["init", "-q", "--bare", "-b", "main", str(bare)],
        ["clone", "-q", str(bare), str(clone)],
    ):
        subprocess.run(["git", *words], check=True, capture_output=True)
    (clone / "a.txt").write_text("one\n")
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["add", "."], [*identity, "commit", "-qm", "first"], ["push", "-q", "origin", "HEAD:main"]):
        subprocess.run(["git", *words], check=True, cwd=clone, capture_output=True)
    return bare


def test_a_worktree_comes_back_on_another_machine_and_looking_does_not_lie(
    workers: Workers, provider: ScriptedProvider, tmp_path: Path
) -> None:
    bare = repository(tmp_path)
    first = workers.start(host="one", home=tmp_path / "machine-one")
    provider.extend([Call("bash", {"command": "echo saved > new.txt; echo two >> a.txt"})], [Say("did it")])
    session = workers.session(tmp_path, "begin", kind="worktree", repo=str(bare), base="main")
    workers.until(session, "idle", free=True)
    assert workers.fleet.session(session).place["turn"] == 1

    provider.extend([Call("bash", {"command": "echo lost > lost.txt; sleep 300"})], [Say("looked, and went on")])
    workers.fleet.ask(session, "prompt", {"text": "again"})
    there = Path(str(workers.fleet.session(session).place["cwd"]))
    eventually((there / "lost.txt").exists)
    first.kill()
    workers.start(host="two", home=tmp_path / "machine-two")
    workers.until(session, "idle", free=True)
    here = Path(str(workers.fleet.session(session).place["cwd"]))
    assert here != there
    assert (here / "new.txt").read_text() == "saved\n"
    assert (here / "a.txt").read_text() == "one\ntwo\n"
    assert not (here / "lost.txt").exists()
    (lost,) = [entry for entry in entries(workers, session) if isinstance(entry, e.CallEnded)][1:]
    assert lost.outcome == "interrupted"
    assert "as saved after turn 1" in str(entries(workers, session)), "the model reads whose files these are"


@pytest.mark.deep
def test_questions_hold_no_slot(workers: Workers, provider: ScriptedProvider, tmp_path: Path) -> None:
    count, slots = (1_000, 32) if DEEP else (12, 4)
    workers.start("--slots", str(slots), mode="--permission-mode=ask")
    provider.extend(*([Call("bash", {"command": "echo hi > made"})] for _ in range(count)))
    sessions = [workers.session(tmp_path / f"work{number}", "ask me") for number in range(count)]
    eventually(lambda: workers.fleet.status().sessions["asking"] == count, 20.0 * count / slots)
    for session in sessions:
        workers.until(session, "asking", free=True)
    eventually(lambda: [worker.holds for worker in workers.fleet.status().workers] == [0])
    provider.extend(*([Say("done")] for _ in sessions))
    for session in sessions:
        (call,) = workers.fleet.session(session).asking
        workers.fleet.ask(session, "answer", {"question": call, "choice": "no"})
    eventually(lambda: workers.fleet.status().sessions["idle"] == count, 20.0 * count / slots)
    for session in sessions:
        workers.until(session, "idle", free=True)
