"""An answer without an end: it is cut off at a bound, a stop takes effect at once, and the session goes on."""

from __future__ import annotations

import signal
import time
from typing import TypeVar

import pytest
from launching import MEASURED, MODELS, World

from holdfast.session.journal.entries import Entry, RequestStarted, ResponseEnded, TurnEnded
from holdfast.session.journal.parts import TextPart
from holdfast.testing.script import Call, Headers, Ping, Raw, Reply, Say, Think, WireName
from long_texts import prose
from polling import eventually, expect_within
from tiers import one_of, sampled

MIB = 1024 * 1024
PIECE = 32 * 1024
ROOM = 200 * 1024
"""KB of memory that an agent may have had at most."""

FOR_EVER = 1_000_000
FIRST, LAST = "It begins here. ", " It ends nowhere."
TEXT = FIRST + prose(10_000_000, "lorem ipsum") + LAST  # 10 MB
TOUCH: dict[str, object] = {"command": "touch ran"}

GEMINI_CALL = (
    b'data: {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": {"name": "bash",'
    b' "args": {"command": "touch ran"}}}]}}]}\r\n\r\n'
)


def calls(wire: WireName, count: int) -> Reply:
    """Return so many calls; Gemini's scripted provider counts the tokens of all of them again for each."""
    return (Raw(GEMINI_CALL, times=count),) if wire == "gemini" else tuple(Call("bash", TOUCH) for _ in range(count))


FLOODS: dict[str, tuple[Reply, str]] = {
    "text": ((Say(TEXT, chunk=PIECE),), "8 MiB of text, thinking and arguments in one answer"),
    "thinking": ((Think(TEXT, chunk=PIECE),), "8 MiB of text, thinking and arguments in one answer"),
    "arguments": (
        (Call("bash", '{"command": "' + TEXT, chunk=PIECE),),
        "8 MiB of text, thinking and arguments in one answer",
    ),
    "calls": ((), "4,096 calls in one answer"),
    "events": ((Raw(b'data: {"type": "news"}\n\n' * 5_000, times=FOR_EVER),), "200,000 events in one answer"),
    "keep-alives": ((Raw(b": still here\n\n" * 80_000, times=FOR_EVER),), "64 MiB in one response"),
    "a line": ((Headers(), Raw(b"x" * MIB, times=FOR_EVER)), "8 MiB in one event"),
    "a document": (
        (Headers(content_type="application/json"), Raw(b" " * MIB, times=FOR_EVER)),
        "8 MiB in one response",
    ),
}
CASES = [(wire, kind) for wire in MODELS for kind in FLOODS]


E = TypeVar("E", bound=Entry)


def of(world: World, kind: type[E]) -> list[E]:
    """Return the entries of one kind."""
    return [entry for entry in world.entries() if isinstance(entry, kind)]


@pytest.mark.parametrize(("any_world", "kind"), sampled(CASES, 16), indirect=["any_world"])
def test_a_flood_is_cut_off_and_the_session_goes_on(any_world: World, kind: str) -> None:
    world = any_world
    flood, bound = FLOODS[kind]
    if (world.wire, kind) == ("gemini", "arguments"):
        bound = "8 MiB in one event"  # there a call comes in one piece
    world.script(flood or calls(world.wire, 4_200), (Say("Whole again."),))
    ran = world.ask("hello", program=MEASURED, cold=True)
    sentence = f"Model '{world.model}' sent more than {bound}. It was cut off there"
    assert (ran.code, f"{sentence})" in ran.err, "is a bug" in ran.err) == (1, True, False), ran.err[-2_000:]
    assert int(ran.err.splitlines()[-1]) < ROOM
    assert sum(path.stat().st_size for path in world.session.rglob("*")) < 20 * MIB
    (ended,) = of(world, TurnEnded)
    assert (ended.cause, ended.reason, sentence in ended.detail) == ("flood", "error", True)
    assert len(of(world, RequestStarted)) == 1  # a flood is not asked for again
    assert not (world.folder / "ran").exists()
    assert world.go_on().out == "Whole again.\n"
    assert any("went over a limit of size or count" in text for text in world.user_texts)


@pytest.mark.parametrize("any_world", one_of([*MODELS], "kept"), indirect=True)
def test_of_a_flood_of_text_the_beginning_and_the_end_are_kept(any_world: World) -> None:
    world = any_world
    world.script((Say(TEXT, chunk=PIECE),), (Say("Whole again."),))
    world.ask("hello")
    (cut,) = of(world, ResponseEnded)
    (part,) = cut.parts
    assert isinstance(part, TextPart)
    head, note, tail = part.text.partition("\n[... ")
    assert (cut.cut, head.startswith(FIRST), len(part.text) < 66_000) == ("flood", True, True)
    left_out = int(note and tail.split(" bytes ")[0])
    kept = len(head) + len(tail.partition(" left out here ...]\n")[2])
    assert kept == 64 * 1024
    assert 8 * MIB - PIECE <= left_out + kept <= 8 * MIB
    world.go_on()
    assert part.text in [block.text for block in world.last]


STOPPED: dict[str, Reply] = {
    "7 MiB of text": (Say(TEXT[: 7 * MIB], chunk=PIECE), Ping(FOR_EVER, every=0.05)),
    "7 MiB of thinking": (Think(TEXT[: 7 * MIB], chunk=PIECE), Ping(FOR_EVER, every=0.05)),
    "7 MiB of arguments": (Call("bash", '{"command": "' + TEXT[: 7 * MIB], chunk=PIECE), Ping(FOR_EVER, every=0.05)),
    "4,000 calls": (),
    "events": (Raw(b'data: {"type": "news"}\n\n' * 50, times=FOR_EVER, every=0.02),),
    "keep-alives": (Raw(b": still here\n\n" * 50, times=FOR_EVER, every=0.005),),
}


@pytest.mark.parametrize(
    ("any_world", "kind"), sampled([(w, k) for w in MODELS for k in STOPPED], 12), indirect=["any_world"]
)
def test_a_stop_takes_effect_at_once_whatever_has_arrived(any_world: World, kind: str) -> None:
    world = any_world
    reply = STOPPED[kind] or (*calls(world.wire, 4_000), Ping(FOR_EVER, every=0.05))
    world.script(reply, (Say("Whole again."),))
    agent = world.start("-m", world.model, "--yolo", "-p", "hello", "--output-format", "stream-json", program=MEASURED)
    eventually(lambda: bool(world.provider.requests))
    size = -1
    while size != (size := len(agent.so_far.out)):  # until all of it has arrived
        time.sleep(0.5)
    since = time.monotonic()
    agent.send(signal.SIGINT)
    ran = agent.wait()
    expect_within(1, since)
    assert ran.code == 130, ran.err[-2_000:]
    (ended,) = of(world, TurnEnded)
    assert ended.cause == "user"
    assert int(ran.err.splitlines()[-1]) < ROOM
    assert not (world.folder / "ran").exists()
    assert world.go_on().out == "Whole again.\n"
