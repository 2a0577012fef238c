"""The supervisor itself in trouble: killed, frozen, unable to start; the agent goes on, and nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from command_bench import Bench, bench, finished, new_call, on_bench
from holdfast.errors import ToolFailed
from holdfast.tools.process import launch, supervisor_client
from holdfast.tools.process.command_end import CommandFinished, stored_output
from holdfast.tools.process.process_table import Process, running_process
from holdfast.tools.process.session_supervisors import CommandRequest, Supervisors
from polling import eventually
from process_leaks import alive
from skips import needs


async def running(bench: Bench, command: str) -> tuple[Process, asyncio.Task[CommandFinished]]:
    """Return the supervisor, whose parent is its watchdog, and the run of a command that has said `ready`."""
    supervisor = running_process(await bench.supervisor_pid())
    assert supervisor is not None
    task = asyncio.create_task(bench.run(command))
    await bench.ready.wait()
    return supervisor, task


def strike(supervisor: int) -> None:
    """Kill a supervisor and its watchdog at the same moment: neither can act after the other died, nor can the agent.

    A watchdog's death wakes a frozen supervisor, so it comes last.
    """
    process = running_process(supervisor)
    assert process is not None
    for number in (signal.SIGSTOP, signal.SIGKILL):
        os.kill(supervisor, number)
        os.kill(process.parent, number)


def test_commands_of_a_killed_supervisor_are_reported_lost_and_the_next_one_works(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        pid = await bench.supervisor_pid()
        calls = [new_call(), new_call()]
        tasks = [asyncio.create_task(bench.run("echo ready; exec sleep 300", call=call)) for call in calls]
        await asyncio.to_thread(eventually, lambda: all(stored_output(tmp_path / f"{call}.out") for call in calls))
        os.kill(pid, signal.SIGKILL)
        for got in await asyncio.gather(*tasks):
            assert (got.cause, got.code, got.signal, got.text) == ("lost", None, None, "ready\n")
        await asyncio.to_thread(
            eventually, lambda: not any(alive(call) for call in calls)
        )  # the kernel ended the supervisor's own children
        assert await bench.supervisor_pid() != pid

    on_bench(tmp_path, act)


def test_what_outlives_supervisor_and_watchdog_is_found_by_the_agent(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        supervisor, call = await bench.supervisor_pid(), new_call()
        command = "setsid sleep 300 & setsid sleep 300 & sleep 0.05; echo ready; sleep 300"
        running = asyncio.create_task(bench.run(command, call=call))
        await bench.ready.wait()
        strike(supervisor)
        got = await running
        assert (got.cause, got.survivors) == ("lost", None)
        assert got.leftovers >= 2
        assert alive(call) == []

    on_bench(tmp_path, act)


@pytest.mark.parametrize("frozen", ["supervisor", "supervisor and watchdog"])
def test_a_supervisor_that_is_frozen_does_not_freeze_the_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: str
) -> None:
    monkeypatch.setattr(supervisor_client, "_PATIENCE", 0.3)

    async def act(bench: Bench) -> None:
        supervisor, task = await running(bench, "echo ready; exec sleep 300")
        if "watchdog" in frozen:
            os.kill(supervisor.parent, signal.SIGSTOP)
        os.kill(supervisor.pid, signal.SIGSTOP)
        bench.stop.set()
        got = await task
        assert got.cause == ("lost" if "watchdog" in frozen else "stop")
        assert got.survivors == 0
        bench.stop.clear()
        assert (await bench.run("echo works")).text == "works\n"

    on_bench(tmp_path, act)


@pytest.mark.parametrize("frozen", ["supervisor", "supervisor and watchdog"])
def test_a_supervisor_that_is_frozen_is_ended_at_the_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, frozen: str
) -> None:
    """It has not read of the command: only the agent, which sent it, can keep the time."""
    monkeypatch.setattr(supervisor_client, "_PATIENCE", 0.3)

    async def act(bench: Bench) -> None:
        supervisor = running_process(await bench.supervisor_pid())
        assert supervisor is not None
        if "watchdog" in frozen:
            os.kill(supervisor.parent, signal.SIGSTOP)
        os.kill(supervisor.pid, signal.SIGSTOP)
        got = await asyncio.wait_for(bench.run("echo run", timeout=0.3), 20)
        if "watchdog" in frozen:
            assert (got.cause, got.text, got.survivors) == ("lost", "", 0)
            assert await bench.supervisor_pid() != supervisor.pid
        else:  # the watchdog wakes it at once
            assert (got.cause, got.text) == ("exit", "run\n")

    on_bench(tmp_path, act)


@pytest.mark.parametrize(
    "words",
    [
        "nonsense",
        '{"kind":"live","call":"x","size":-1,"dropped":0}',
        '{"kind":"live","call":"x","size":9000000,"dropped":0}',
    ],
)
@needs("root")
def test_a_command_that_writes_among_the_messages_loses_its_supervisor_and_ends(tmp_path: Path, words: str) -> None:
    """Only root may open the pipe of another process; nothing that follows such words can be told from messages."""

    async def act(bench: Bench) -> None:
        call = new_call()
        forged = f"echo ready; setsid sleep 300 & echo '{words}' >/proc/$PPID/fd/1; sleep 300"
        got = await asyncio.wait_for(bench.run(forged, call=call), 20)
        assert (got.cause, got.text, got.survivors) == ("lost", "ready\n", 0)
        assert alive(call) == []
        assert (await bench.run("echo works")).text == "works\n"

    on_bench(tmp_path, act)


@pytest.mark.parametrize("struck", ["the watchdog", "the supervisor"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_search_printed_before_it_was_interrupted_is_no_result(
    tmp_path: Path, struck: str, number: signal.Signals
) -> None:
    async def act(bench: Bench) -> None:
        supervisor = running_process(await bench.supervisor_pid())
        assert supervisor is not None
        searching = asyncio.create_task(
            bench.capture("sh", "-c", "echo found; touch printed; trap 'exit 0' TERM; while :; do sleep 0.02; done")
        )
        await asyncio.to_thread(eventually, (tmp_path / "printed").exists)
        os.kill(supervisor.parent if struck == "the watchdog" else supervisor.pid, number)
        with pytest.raises(ToolFailed, match="'sh' was interrupted: the process that ran it died"):
            await searching
        # The next one comes while that supervisor exits: it works, or has no result either.
        with contextlib.suppress(ToolFailed):
            assert (await bench.capture("echo", "works")) == (0, b"works\n")

    on_bench(tmp_path, act)


def test_a_search_whose_output_is_gone_has_no_result(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        with pytest.raises(ToolFailed, match=r"output of command 'sh' could not be read: .*No such file.* Try again"):
            await bench.capture("sh", "-c", "echo found; rm -f -- *.out")

    on_bench(tmp_path, act)


def test_a_supervisor_that_cannot_be_closed_keeps_no_other_from_it(tmp_path: Path) -> None:
    """What closing one raises is raised, after everything that the others run has ended."""

    async def fail() -> None:
        raise OSError("the pipe is broken")

    async def act() -> None:
        supervisors, call = Supervisors(tmp_path), new_call()
        request = CommandRequest(
            command="trap '' TERM; touch began; while :; do sleep 0.1; done",
            call=call,
            cwd=tmp_path,
            timeout=None,
            spool=tmp_path / "out",
            background=True,
        )
        task = asyncio.create_task(supervisors.run(request, stop=asyncio.Event(), emit=lambda _: None))
        await asyncio.to_thread(eventually, (tmp_path / "began").exists)
        supervisors._first._listener = asyncio.create_task(fail())
        with pytest.raises(OSError, match="the pipe is broken"):
            await supervisors.close()
        assert alive(call) == []
        assert (await task).cause == "stop"

    asyncio.run(act())


def test_a_supervisor_that_is_frozen_after_the_death_of_its_watchdog_is_woken(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        supervisor, task = await running(bench, "trap '' TERM; echo ready; while true; do sleep 300; done")
        os.kill(supervisor.parent, signal.SIGKILL)
        eventually(lambda: running_process(supervisor.parent) is None)  # this loop is the agent's, and stands still
        os.kill(supervisor.pid, signal.SIGSTOP)
        got = await task
        assert (got.cause, got.survivors) == ("unguarded", 0)

    on_bench(tmp_path, act)


def test_a_watchdog_that_is_frozen_and_loses_its_supervisor_is_woken(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        supervisor, task = await running(bench, "setsid sleep 300 & echo ready; sleep 300")
        os.kill(supervisor.parent, signal.SIGSTOP)
        os.kill(supervisor.pid, signal.SIGKILL)
        got = await task
        assert (got.cause, got.survivors) == ("lost", 0)

    on_bench(tmp_path, act)


def test_a_supervisor_that_cannot_start_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "PROGRAM", "import missing_here")
    with pytest.raises(ToolFailed, match="Nothing was run"):
        finished(tmp_path, "true")
    assert "missing_here" in (tmp_path / f"{launch.SUPERVISOR}.log").read_text()


def test_without_a_folder_nothing_is_run(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="Nothing was run"):
        finished(tmp_path / "none", "true")


def test_a_search_whose_supervisor_was_killed_leaves_that_of_another_session_alone(tmp_path: Path) -> None:
    async def act(other: Bench) -> None:
        searching = asyncio.create_task(other.capture("sleep", "300"))
        pid = await other.supervisor_pid()
        folder = tmp_path / "own"
        folder.mkdir()
        async with bench(folder) as killed:
            supervisor = await killed.supervisor_pid()
            lost = asyncio.create_task(killed.capture("sleep", "300"))
            await killed.run("sleep 0.1")
            strike(supervisor)
            with pytest.raises(ToolFailed, match="died"):
                await lost
        assert not searching.done()
        assert await other.supervisor_pid() == pid
        searching.cancel()
        await asyncio.wait([searching])

    on_bench(tmp_path, act)
