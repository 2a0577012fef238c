"""Programs that make themselves daemons: a background command lasts as long as what it started, and no longer."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import pytest

from command_bench import Bench, new_call, on_bench
from polling import HANGS, eventually
from process_leaks import alive, linux_only
from stubborn_commands import NASTY

pytestmark = linux_only

TWICE = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        open("begun", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.02)
    os._exit(0)
os.wait()
"""
WAITS = "until [ -e go ]; do sleep 0.02; done"
DAEMONS = {
    "forks twice": f'{sys.executable} -c "$DAEMON"',
    "in its own session": f"setsid -f sh -c 'touch begun; {WAITS}' >/dev/null 2>&1 </dev/null",
    "without its environment": f"env -i setsid -f sh -c 'touch begun; {WAITS}' >/dev/null 2>&1 </dev/null",
    "a plain child": f"sh -c 'touch begun; {WAITS}' &",
}


def line(name: str) -> str:
    return f"DAEMON='{TWICE}'; export DAEMON; {DAEMONS[name]}\nexit 3"


@pytest.mark.parametrize("name", DAEMONS)
def test_a_background_command_lasts_as_long_as_what_it_started(tmp_path: Path, name: str) -> None:
    async def act(bench: Bench) -> None:
        task = asyncio.create_task(bench.run(line(name), stays=True))
        await asyncio.to_thread(eventually, lambda: "still running" in bench.shown)
        assert (tmp_path / "begun").exists()
        assert not task.done()
        (tmp_path / "go").touch()
        got = await asyncio.wait_for(task, HANGS)
        assert (got.cause, got.code, got.leftovers, got.survivors) == ("exit", 3, 0, 0)
        said = (
            r"\[The command itself has ended \(exit code 3\)\. It started (1 process|\d processes), still running\.\]\n"
        )
        assert re.fullmatch(said, got.text)

    on_bench(tmp_path, act)


@pytest.mark.parametrize("name", DAEMONS)
def test_a_stop_ends_what_it_started(tmp_path: Path, name: str) -> None:
    async def act(bench: Bench) -> None:
        call = new_call()
        task = asyncio.create_task(bench.run(line(name), call=call, stays=True))
        await asyncio.to_thread(eventually, lambda: "still running" in bench.shown)
        bench.stop.set()
        got = await asyncio.wait_for(task, HANGS)
        assert (got.cause, got.code, got.leftovers, got.survivors) == ("stop", 3, 0, 0)
        assert alive(call) == []

    on_bench(tmp_path, act)


def test_its_time_limit_counts_what_it_started(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        got = await bench.run(line("forks twice"), stays=True, timeout=1.0)
        assert (got.cause, got.survivors) == ("timeout", 0)

    on_bench(tmp_path, act)


def test_one_that_is_deaf_is_killed(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        task = asyncio.create_task(bench.run(f"({NASTY['is deaf to SIGTERM']}) &", stays=True))
        await asyncio.to_thread(eventually, lambda: "still running" in bench.shown)
        bench.stop.set()
        assert (await asyncio.wait_for(task, HANGS)).survivors == 0

    on_bench(tmp_path, act)


def test_the_end_of_the_supervisor_ends_it(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        call = new_call()
        task = asyncio.create_task(bench.run(line("forks twice"), call=call, stays=True))
        await asyncio.to_thread(eventually, lambda: "still running" in bench.shown)
        await bench.supervisor.close()
        assert (await asyncio.wait_for(task, HANGS)).cause == "stop"
        assert alive(call) == []

    on_bench(tmp_path, act)


def test_a_moved_command_stays_too_and_the_next_ends_as_ever(tmp_path: Path) -> None:
    async def act(bench: Bench) -> None:
        call = new_call()
        moved = asyncio.create_task(
            bench.run(f"echo ready; {WAITS}; rm go; {DAEMONS['in its own session']}", call=call)
        )
        await bench.ready.wait()
        bench.supervisor.keep(call)
        (tmp_path / "go").touch()
        await asyncio.to_thread(eventually, lambda: "still running" in bench.shown)
        assert (await bench.run("setsid -f sleep 300; sleep 0.05")).leftovers == 1
        assert not moved.done()
        (tmp_path / "go").touch()
        assert (await asyncio.wait_for(moved, HANGS)).cause == "exit"

    on_bench(tmp_path, act)
