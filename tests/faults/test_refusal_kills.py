"""SIGKILL at each point around what is decided after a refusal, for every row of the table and on every wire.

The process stands still right before or after the failure and the decision are durable, or right before what follows:
the further request, or the compaction. The provider is a server on a socket, which keeps refusing while processes come
and go. What was refused is sent once, or once more at most, never byte for byte, and the session goes on.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from holdfast.session.journal.entries import RequestFailed, RequestsChanged
from holdfast.session.storage.sqlite_store import SqliteStore, read_copy
from played_refusals import SAID, WIRES, Said, name, opened_for, played
from polling import HANGS
from refused_program import agent_on
from refusing_server import RefusingServer, Wire, serving
from tiers import sampled

TESTS = Path(__file__).parents[1]
PLACES = ("before", "durable", "further")
DECIDED = frozenset({"thinking", "reasoning", "markers", "tools", "one_call"})
LONG = "word " * 8_000


def prompts_of(said: Said) -> list[str]:
    """Return the prompts after which something is refused."""
    return [f"{number} {LONG}" for number in range(4)] if said.row.recovery == "shorten" else ["go"]


def is_refused_over(said: Said, wire: Wire) -> bool:
    """Return whether this is decided on this wire: Gemini's has no place for reasoning."""
    return said.row.recovery != "reasoning" or wire != "gemini"


def killed(folder: Path, server: RefusingServer, where: str, prompts: list[str]) -> None:
    """Run the program until it stands still, and kill it."""
    program = [sys.executable, str(TESTS / "refused_program.py")]
    words = [*program, str(folder), json.dumps(server.environ()), where]
    environ = {**os.environ, "PYTHONPATH": str(TESTS)}
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=environ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(prompts).encode())
        process.stdin.close()
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert line == b"standing\n", process.stderr.read().decode()


def next_turn(folder: Path, server: RefusingServer, prompt: str) -> str:
    """Run a turn by another process's agent, and return why it ended."""

    async def run() -> str:
        agent = agent_on(SqliteStore.open(folder), server.environ())
        try:
            async with asyncio.timeout(HANGS):
                return (await agent.run(prompt)).cause
        finally:
            await agent.close()

    return asyncio.run(run())


def refused_by(server: RefusingServer) -> list[str]:
    return [json.dumps(server.requests[each]) for each in server.refusals]


KILLS = [
    (said, wire, where)
    for said, wire, where in product(SAID, WIRES, PLACES)
    if said.row.recovery not in ("wait", "none") and is_refused_over(said, wire)
]


@pytest.mark.parametrize(("said", "wire", "where"), sampled(KILLS, 22), ids=name)
def test_a_kill_around_what_is_decided(tmp_path: Path, said: Said, wire: Wire, where: str) -> None:
    folder = tmp_path / "session"
    with serving(played(said, wire)) as server:
        first = SqliteStore.create(folder)
        first.append([opened_for(server)], expected=0)
        first.close()
        killed(folder, server, where, prompts_of(said))
        kept = [record.entry for record in read_copy(folder).records]
        failures = [each for each in kept if isinstance(each, RequestFailed)]
        assert len(failures) == (0 if where == "before" else 1)
        assert sum(isinstance(each, RequestsChanged) for each in kept) == (
            len(failures) if said.row.recovery in DECIDED else 0
        ), "the decision and its failure are one fact"
        assert len(server.refusals) == 1
        assert next_turn(folder, server, "again") == "finished"
        assert next_turn(folder, server, "and again") == "finished"
        # A compaction is no decision that lasts: the conversation is as long as before.
        asked_again = where == "before" or said.row.recovery == "shorten"
        assert len(server.refusals) == (2 if asked_again else 1)
        assert len(set(refused_by(server))) == len(server.refusals), "nothing is sent again as it was refused"
        decisions = [record.entry for record in read_copy(folder).records if isinstance(record.entry, RequestsChanged)]
        assert [each.refusal for each in decisions] == ([said.row.id] if said.row.recovery in DECIDED else [])


PASSING = [
    (said, wire, where)
    for said, wire, where in product(SAID, WIRES, PLACES)
    if said.row.recovery in ("wait", "none") and not (said.row.recovery == "none" and where == "further")
]


@pytest.mark.parametrize(("said", "wire", "where"), sampled(PASSING, 4), ids=name)
def test_a_kill_around_the_failure_of_what_passes_or_stays(tmp_path: Path, said: Said, wire: Wire, where: str) -> None:
    """Nothing is decided: the next prompt asks again, and works once the provider does."""
    folder = tmp_path / "session"
    with serving(played(said, wire)) as server:
        first = SqliteStore.create(folder)
        first.append([opened_for(server)], expected=0)
        first.close()
        killed(folder, server, where, ["go"])
        server.refuses = lambda _: False
        assert next_turn(folder, server, "again") == "finished"
        assert len(server.refusals) == 1
        assert not any(isinstance(record.entry, RequestsChanged) for record in read_copy(folder).records)
