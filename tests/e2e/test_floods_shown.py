"""A flood on the screen: Esc stops it at once whatever has arrived, and the screen says what was cut off."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from launching import World
from terminal import Key
from test_floods import FLOODS, ROOM, STOPPED, calls
from test_terminal import screen

from holdfast.testing.script import Ping, Say
from polling import expect_within
from tiers import sampled

PROMPT = "Ask holdfast to do something"


def most_memory(pid: int) -> int:
    """Return how many KB of memory a process has had at most."""
    found = re.search(r"VmHWM:\s*(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1])


@pytest.mark.parametrize(("flags", "kind"), sampled([(f, k) for f in ((), ("--inline",)) for k in STOPPED], 4))
def test_esc_stops_a_flood_at_once(one_world: World, flags: tuple[str, ...], kind: str) -> None:
    world = one_world
    world.script(STOPPED[kind] or (*calls(world.wire, 4_000), Ping(1_000, every=0.05)), (Say("Whole again."),))
    with screen(world, "-m", world.model, "--yolo", *flags) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("go")
        terminal.wait_text("esc to interrupt")
        time.sleep(6)
        since = time.monotonic()
        terminal.send(Key.ESC)
        terminal.wait_text("you stopped the turn")
        expect_within(1, since)
        assert most_memory(terminal.pid) < ROOM
        terminal.line("again")
        terminal.wait_text("Whole again")


@pytest.mark.parametrize("kind", ["text", "calls"])
def test_a_flood_is_cut_off_on_the_screen(one_world: World, kind: str) -> None:
    world = one_world
    flood, bound = FLOODS[kind]
    world.script(flood or calls(world.wire, 4_200), (Say("Whole again."),))
    with screen(world, "-m", world.model, "--yolo") as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("go")
        terminal.wait_text(bound.partition(" of ")[0])
        assert most_memory(terminal.pid) < ROOM
        terminal.line("again")
        terminal.wait_text("Whole again")
