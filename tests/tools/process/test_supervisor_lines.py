"""Lines that are no line of a supervisor, and long ones that are: a real process prints them in its place."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

import pytest

from ends import ENDED
from holdfast.errors import ToolFailed
from holdfast.system.confinement.network.proxy_process import REPORT_MOST
from holdfast.tools.process.command_end import CommandFinished
from holdfast.tools.process.end_record import end_of, new_seal, read_end, write_end
from holdfast.tools.process.launch import launch_supervisor
from holdfast.tools.process.supervisor_client import Supervisor
from polling import HANGS, expect_within
from process_leaks import linux_only

pytestmark = linux_only
READY = '{"kind": "ready", "pid": %d}\n'
PROGRAM = """
import os, sys, time
said, then = (open(each).read().replace("%d", str(os.getpid())) for each in sys.argv[1:3])
print(said, end="", flush=True)
if said:
    sys.stdin.readline()
    print(then, end="", flush=True)
    sys.stdin.read()
"""

NOT_READY = {
    "nothing": "",
    "a banner": "Welcome to this shell!\n",
    "half of a pair": '{"pid": 1, "x": "\\ud83d"}\n',
    "values in values": '{"pid": ' + "[" * 100_000 + "\n",
    "a large number": '{"kind": "ready", "pid": ' + "9" * 30 + "}\n",
    "no process": '{"kind": "ready", "pid": -1}\n',
    "no number": '{"kind": "ready", "pid": 1e400}\n',
    "a line without an end": "x" * 2_000_000,
}


def spoken(folder: Path, first: str, then: str = "") -> tuple[str, ...]:
    """Return words before the supervisor's program, with which another one runs: it prints this, and waits."""
    for name, text in (("first", first), ("then", then)):
        (folder / name).write_text(text)
    return (sys.executable, "-I", "-S", "-c", PROGRAM, str(folder / "first"), str(folder / "then"))


@pytest.mark.parametrize("kind", NOT_READY)
def test_a_first_line_that_is_none_of_a_supervisor_is_a_named_fault(tmp_path: Path, kind: str) -> None:
    began = time.monotonic()
    wrap = spoken(tmp_path, NOT_READY[kind])
    with pytest.raises(ToolFailed, match=r"did not start\. Nothing was run"):
        asyncio.run(launch_supervisor(tmp_path, contained=False, wrap=wrap))
    expect_within(5, began)


def run(folder: Path, answer: str) -> CommandFinished:
    """Return how a command ended of which a supervisor says this."""

    async def command() -> CommandFinished:
        supervisor = Supervisor(folder)
        supervisor.wrap = spoken(folder, READY, answer)
        spool = folder / new_seal("A")[0]
        spool.write_text("half\n")
        nothing = asyncio.Event()
        try:
            async with asyncio.timeout(HANGS):
                return await supervisor.run(
                    "true", call="A", cwd=folder, timeout=HANGS, stop=nothing, emit=lambda _: None, spool=spool
                )
        finally:
            await supervisor.close()

    return asyncio.run(command())


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        json.dumps(ENDED | {"status": 10**30}),
        json.dumps(ENDED | {"seen": -1}),
        json.dumps(ENDED | {"survivors": 1e400}),
        json.dumps(ENDED | {"unkept": "x"}).replace('"x"', '"\\ud800"'),
        '{"kind": "started", "call": "A", "pid": 1, "start": ' + "9" * 30 + ', "boot": ""}',
        '{"kind": "live", "call": "A", "size": 99999999, "dropped": 0}',
        "[" * 100_000,
        "x" * 2_000_000,
    ],
    ids=lambda line: line[:60],
)
def test_a_line_that_is_no_line_of_a_supervisor_is_its_end(tmp_path: Path, line: str) -> None:
    found = run(tmp_path, f"{line}\n{json.dumps(ENDED)}\n")
    assert (found.cause, found.text) == ("lost", "half\n")


def many() -> list[dict[str, object]]:
    """Return as much as a proxy reports at most."""
    return [{"host": "h" * 300, "port": 65_535 - each, "why": "w" * 200} for each in range(100)]


def test_an_end_with_all_that_a_proxy_can_have_refused_is_read(tmp_path: Path) -> None:
    assert len(json.dumps(many())) < REPORT_MOST
    moved = [f"/{each}" + "\u4e00" * 1300 for each in range(20)]
    said = json.dumps(ENDED | {"refused": many(), "moved": moved})
    assert len(said) > 200_000
    found = run(tmp_path, f"{said}\n")
    assert (found.cause, len(found.refused), found.moved) == ("exit", 100, tuple(moved))
    name, seal = new_seal("A")
    write_end(str(end_of(tmp_path / name)), seal, said)
    assert read_end(tmp_path / name) == said.encode()
