"""A flood is killed or stopped while it arrives: what was journalled is its beginning, and the next prompt works."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from launching import MODELS, World
from report import record

from holdfast.session.journal.entries import CallStarted, PromptAccepted, ResponseCheckpoint, ResponseEnded, TurnEnded
from holdfast.session.journal.parts import TextPart
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.testing.script import Call, Reply, Say, Think, WireName
from holdfast.testing.scripted_provider import ScriptedProvider
from polling import slowness
from tiers import sampled, some

MIB = 1024 * 1024
TEXT = "".join(f"{number:07} " for number in range(1_250_000))  # 10 MB, of which each place can be told
PIECE = 16_384
CALL = Call("bash", {"command": "touch ran"})
FLOODS: dict[str, Reply] = {
    "text": (CALL, Say(TEXT, chunk=PIECE, delay=0.002)),
    "thinking": (Think(TEXT, chunk=PIECE, delay=0.002),),
    "arguments": (Say("So. "), Call("bash", '{"command": "' + TEXT, chunk=PIECE, delay=0.002)),
}
SIGNALS = {"kill": signal.SIGKILL, "SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM}
POINTS = [0, 1, MIB // 2, 2 * MIB, 5 * MIB, 7 * MIB, 8 * MIB]
"""Bytes of output after which it is struck; a flood that has ended by then was struck behind its end."""
AT_ONCE = 1.0


@pytest.mark.parametrize(
    ("wire", "kind", "how"), sampled([(w, k, h) for w in MODELS for k in FLOODS for h in SIGNALS], 4)
)
def test_a_flood_that_is_struck_is_known_as_far_as_it_came(wire: WireName, kind: str, how: str, tmp_path: Path) -> None:
    points = [each for (each,) in some([(each,) for each in POINTS], 4)]
    wrong: list[str] = []
    for point in points:
        folder = tmp_path / str(point)
        folder.mkdir()
        with ScriptedProvider() as provider:
            world = World(wire, root=folder, provider=provider)
            try:
                wrong += [f"at {point:,} bytes: {each}" for each in _struck(world, kind, SIGNALS[how], point)]
                world.verify()
            finally:
                world.close()
    record(f"a flood of {kind}", how, points=len(points), of=len(POINTS), violations=wrong)
    assert wrong == []


def _struck(world: World, kind: str, number: signal.Signals, point: int) -> list[str]:
    world.script(FLOODS[kind], (Say("Whole again."),))
    agent = world.start("-m", world.model, "--yolo", "-p", "hello", "--output-format", "stream-json")
    until = time.monotonic() + 60
    while agent.size < point and not agent.ended and time.monotonic() < until:
        time.sleep(0.01)
    since = time.monotonic()
    if not agent.ended:
        agent.send(number)
    agent.wait()
    took = time.monotonic() - since
    wrong = [] if took < AT_ONCE * slowness() else [f"it took {took:.1f} s to end"]
    if not world.sessions:  # struck before there was one
        return [] if point == 0 else [*wrong, "there is no session"]
    before = world.entries()
    if (prompts := [each for each in before if isinstance(each, PromptAccepted)]) and not _is_beginning(world):
        wrong.append("what was journalled is not the beginning of what arrived")
    if not world.provider.requests:  # struck before it was sent: the first byte of output may be older than the prompt
        return wrong
    if not prompts:
        return [*wrong, "the prompt was lost"]
    world.go_on()
    entries = world.entries()
    wrong += [f"the journal is damaged: {each}" for each in read_copy(world.session).findings]
    ends = [each for each in entries if isinstance(each, TurnEnded)]
    causes = {"flood", {signal.SIGKILL: "crash", signal.SIGINT: "user"}.get(number, "signal")}
    if len(ends) != 2 or ends[0].cause not in causes:
        wrong.append(f"the turns ended by {[each.cause for each in ends]}")
    if any(isinstance(each, CallStarted) for each in entries) or (world.folder / "ran").exists():
        wrong.append("a call of a cut answer was run")
    for each in entries:
        if isinstance(each, ResponseEnded) and each.cut is not None:
            kept = "".join(part.text for part in each.parts if isinstance(part, TextPart))
            wrong += [f"{len(kept):,} characters are kept"] if len(kept) > MIB else []
    return wrong


def _is_beginning(world: World) -> bool:
    checkpoints = [each for each in world.entries() if isinstance(each, ResponseCheckpoint)]
    text, thinking = "".join(each.text for each in checkpoints), "".join(each.thinking for each in checkpoints)
    return (TEXT.startswith(text) or text == "So. ") and TEXT.startswith(thinking) and len(text + thinking) <= 8 * MIB
