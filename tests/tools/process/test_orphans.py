"""What is left of a command is found by its mark or as it was journalled, and nothing else is ever touched."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest

from holdfast.tool_calls import ProcessId
from holdfast.tools.process import orphans
from holdfast.tools.process.orphans import OrphanReport, describe_orphans, reap
from holdfast.tools.process.process_table import CALL_VARIABLE, Process, below, boot, by_parent, living, running_process
from polling import eventually
from process_leaks import alive, linux_only

pytestmark = linux_only

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Generator[Start]:
    """Start a shell whose environment is `env` alone, and wait until `name` runs in its place or with it."""
    with ExitStack() as stack:

        def started(script: str, *, name: str = "sleep", **env: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(["/bin/sh", "-c", script], env=env)
            stack.enter_context(process)
            stack.callback(process.kill)
            eventually(lambda: name.encode() in named(process.pid))
            return process

        yield started


def named(pid: int) -> list[bytes]:
    """Return the names of a process and of all below it."""
    processes = living()
    mine = [process for process in processes if process.pid == pid]
    return [process.name for process in (*mine, *below(pid, by_parent(processes)))]


@pytest.fixture
def call() -> str:
    return f"call-{uuid.uuid4().hex}"


def identity(pid: int) -> ProcessId:
    found = running_process(pid)
    assert found is not None
    return ProcessId(pid=pid, start=found.start, boot=boot())


def test_a_process_is_found_by_its_mark_and_what_it_started_with_it(start: Start, call: str) -> None:
    shell = start(
        f"env -i tail -f /dev/null /no/{call} 2>/dev/null & wait", name="tail", PATH=os.defpath, **{CALL_VARIABLE: call}
    )
    bystander = start("exec sleep 300", PATH=os.defpath, **{CALL_VARIABLE: f"{call}0"})
    found = reap({call}, [])
    assert sorted(name.partition(" ")[0] for name in found.ended) == ["sh", "tail"]
    assert f"sh ({shell.pid})" in found.ended
    assert found.left == ()
    assert alive(call) == [bystander.pid]


def test_a_process_without_a_mark_is_found_as_it_was_journalled(start: Start, call: str) -> None:
    process = start("exec sleep 300", PATH=os.defpath)
    known = identity(process.pid)
    for other in (
        ProcessId(pid=known.pid, start=known.start - 1, boot=known.boot),
        ProcessId(pid=known.pid, start=known.start, boot="another"),
        ProcessId(pid=4_000_000, start=known.start, boot=known.boot),
    ):
        assert reap({call}, [other]) == OrphanReport()
    assert process.poll() is None
    assert reap({call}, [known]) == OrphanReport(ended=(f"sleep ({process.pid})",))


def test_a_pid_that_has_a_new_owner_by_then_is_left_alone(
    start: Start, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was listed as the process that was journalled, which ended before it could be opened."""
    process = start("exec sleep 300", PATH=os.defpath)
    owner = running_process(process.pid)
    assert owner is not None
    before = Process(pid=owner.pid, name=owner.name, parent=owner.parent, session=owner.session, start=owner.start - 1)
    monkeypatch.setattr(orphans, "living", lambda: [before])
    known = ProcessId(pid=before.pid, start=before.start, boot=boot())
    assert reap({call}, [known]) == OrphanReport()
    assert process.poll() is None


def test_one_that_is_deaf_or_frozen_is_killed(start: Start, call: str) -> None:
    deaf = start("trap '' TERM; while :; do sleep 0.1; done", PATH=os.defpath, **{CALL_VARIABLE: call})
    frozen = start("kill -STOP $$", name="sh", **{CALL_VARIABLE: call})
    assert {f"sh ({deaf.pid})", f"sh ({frozen.pid})"} <= set(reap({call}, []).ended)
    assert alive(call) == []


def test_a_process_that_cannot_be_ended_is_reported(start: Start, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "_GIVE_UP", 5)  # before SIGKILL: another user's takes no signal at all
    process = start("trap '' TERM; exec sleep 300", PATH=os.defpath, **{CALL_VARIABLE: call})
    assert reap({call}, []) == OrphanReport(left=(f"sleep ({process.pid})",))


def test_a_process_does_not_end_what_it_was_started_from(call: str) -> None:
    """A terminal that a command opened may be where the session is resumed."""
    reaping = f"from holdfast.tools.process.orphans import reap; print(reap({{{call!r}}}, []))"
    shell = f'{sys.executable} -c "{reaping}"; echo still here'
    done = subprocess.run(
        ["/bin/sh", "-c", shell], env={CALL_VARIABLE: call}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "OrphanReport(ended=(), left=())\nstill here\n"


@pytest.mark.parametrize(
    ("remains", "words"),
    [
        (OrphanReport(), ""),
        (OrphanReport(ended=("sleep (7)",)), "still running, and ended now: sleep (7)"),
        (
            OrphanReport(ended=tuple("abcdefg"), left=("sudo (8)",)),
            (
                "still running, and ended now: a, b, c, d, e and 2 more; "
                "could not be ended and may still be running: sudo (8)"
            ),
        ),
    ],
)
def test_it_is_said_in_a_few_words(remains: OrphanReport, words: str) -> None:
    assert describe_orphans(remains) == words
