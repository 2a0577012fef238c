"""A hostile MCP server and the real program: its memory, its end, the time of a stop, and the reason that it gives."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from launching import World
from test_mcp import outcomes

from holdfast.session.journal.entries import TurnEnded
from holdfast.testing.script import Call, Say
from hostile_mcp_server import ENDING, ENDLESS, over_http, over_stdio
from polling import eventually, expect_within
from tiers import sampled

MOST_MEMORY = 200_000  # KB
FLOODS = [
    *((kind, tool) for kind in ("stdio", "http") for tool in ("large", "endless", "values", "wide")),
    ("http", "bomb"),
    ("http", "events_bomb"),
]


STOPPED = [
    *(pytest.param(kind, tool) for kind in ("stdio", "http") for tool in ("logs", "progress")),
    *sampled([("http", each) for each in ENDLESS if each not in ENDING], 3),
]


@contextmanager
def configured(world: World, kind: str) -> Generator[Path]:
    """Configure a hostile server of this kind; yields the mark that is there once a call has arrived."""
    path, mark = world.home / "mcp.json", world.home / "call-arrived"
    if kind == "stdio":
        command, *words = over_stdio(mark)
        path.write_text(json.dumps({"mcpServers": {"srv": {"command": command, "args": words}}}))
        yield mark
        return
    with over_http(mark) as url:
        path.write_text(json.dumps({"mcpServers": {"srv": {"type": "http", "url": url}}}))
        yield mark


def most_memory(pid: int) -> int:
    """Return the most memory that a process has had, in KB, 0 if it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return 0 if found is None else int(found[1])


@pytest.mark.parametrize(("kind", "tool"), sampled(FLOODS, 3))
def test_a_flood_is_cut_and_takes_no_memory(one_world: World, kind: str, tool: str) -> None:
    world = one_world
    world.script([Call(f"mcp__srv__{tool}", {})], [Say("Done.")])
    with configured(world, kind):
        agent = world.start("-m", world.model, "-p", "go", "--yolo")
        seen = [1]

        def has_ended() -> bool:
            seen.append(most_memory(agent.pid))
            return seen[-1] == 0

        eventually(has_ended)
        assert agent.wait().code == 0
    assert 10_000 < max(seen) < MOST_MEMORY
    ((outcome, text),) = outcomes(world)
    assert outcome == "interrupted"
    assert "ended during this call: it sent a message of more than" in text
    world.verify()


@pytest.mark.parametrize(("kind", "tool"), STOPPED)
def test_a_stop_during_a_flood_takes_effect(one_world: World, kind: str, tool: str) -> None:
    world = one_world
    world.script([Call(f"mcp__srv__{tool}", {})], [Say("Done.")])
    with configured(world, kind) as arrived:
        agent = world.start("-m", world.model, "-p", "go", "--yolo")
        eventually(arrived.exists)  # a stop before that is one before the call, which fails it as not sent
        time.sleep(1.0)  # the flood runs
        memory = most_memory(agent.pid)
        began = time.monotonic()
        agent.send(signal.SIGINT)
        eventually(lambda: any(isinstance(each, TurnEnded) for each in world.entries()))
        expect_within(1, began)
        agent.wait()
        expect_within(3, began)  # of which a process takes some to end
    assert 10_000 < memory < MOST_MEMORY
    ((outcome, text),) = outcomes(world)
    assert outcome == "interrupted"
    assert "whether it acted is unknown" in text.lower()
    world.verify()
