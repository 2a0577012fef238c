"""What a provider can answer that ended sessions or ate memory: the session goes on, in bounds, and says why."""

from __future__ import annotations

import json
import re

import pytest
from launching import MEASURED, MODELS, World
from launching import messages as sent

from bombs import SIZE, bomb
from holdfast.session.journal.entries import RequestFailed
from holdfast.testing.script import Call, Cut, Headers, Raw, Say, WireName

MANY = 129
"""One call more than OpenAI takes back in a message."""

ROOM = SIZE // 3
"""Bytes of memory that an agent may have had at most: it has about a fifth of that."""

SLOW = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name in ("pydantic_ai", "openai"):
            time.sleep(1.5)
sys.meta_path.insert(0, Slow())
from holdfast.ui.main import main
sys.exit(main())
"""
"""The product, on a machine that takes its time to load the libraries of a provider."""


def _delta(delta: object) -> dict[str, object]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _text(**fields: object) -> dict[str, object]:
    return {"type": "response.output_text.delta", "sequence_number": 9, **fields}


def _candidate(**fields: object) -> dict[str, object]:
    return {"candidates": [{"index": 0, **fields}]}


STRANGE: dict[WireName, dict[str, object]] = {
    "anthropic": {
        "unknown event": {"type": "surprise", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
        "unknown kind": _delta({"type": "surprise_delta", "words": "x"}),
        "missing": _delta({}),
        "null": _delta({"type": "text_delta", "text": None}),
        "wrong type": _delta({"type": "text_delta", "text": 3}),
        "no object": _delta(None),
    },
    "openai-chat": {
        "unknown event": {"object": "surprise", "words": "x"},
        "unknown kind": {"choices": [{"index": 0, "delta": {"surprise": {"type": "surprise", "words": "x"}}}]},
        "missing": {"choices": [{"index": 0}]},
        "null": {"choices": [{"index": 0, "delta": None}]},
        "wrong type": {"choices": [{"index": 0, "delta": {"content": 3}}]},
        "no object": {"choices": [None]},
    },
    "openai-responses": {
        "unknown event": {"type": "response.surprise", "sequence_number": 9, "delta": "x"},
        "unknown kind": {"type": "response.output_item.added", "output_index": 7, "item": {"type": "surprise"}},
        "missing": _text(),
        "null": _text(item_id=None, output_index=0, content_index=0, delta=None),
        "wrong type": _text(item_id=3, output_index="a", content_index=None, delta=3),
        "no object": {"type": "response.output_item.added", "output_index": 7, "item": None},
    },
    "gemini": {
        "unknown event": {"surprise": [{"words": "x"}]},
        "unknown kind": _candidate(content={"role": "model", "parts": [{"surprise": {"words": "x"}}]}),
        "missing": _candidate(content={}),
        "null": _candidate(content={"role": "model", "parts": None}),
        "wrong type": _candidate(content={"role": "model", "parts": [{"text": 3}]}),
        "no object": {"candidates": [None]},
    },
}
"""Events that each wire's protocol does not have, sent between two pieces of one text."""


@pytest.mark.parametrize("world", STRANGE, indirect=True)
def test_a_strange_event_in_a_text_loses_none_of_it_and_the_session_goes_on(world: World) -> None:
    (world.home / "config.toml").write_text("[limits]\nattempts = 1\n")
    finished: list[str] = []
    for number, (name, event) in enumerate(STRANGE[world.wire].items()):
        named = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        strange = Raw(f"{named}data: {json.dumps(event)}\n\n".encode())
        world.script((Say(f"Half {number}. "), strange, Say("The rest.")))
        began = ("-m", world.model) if number == 0 else ("-c",)
        ran = world.run(*began, "--yolo", "-p", name)
        assert ran.code in (0, 75), (name, ran.err)
        assert not re.search("is a bug|Traceback|internal error", ran.err), (name, ran.err)
        assert ran.code == 0 or "sent an invalid response" in ran.err, (name, ran.err)
        finished += [name] if ran.code == 0 else []
    assert "unknown event" in finished
    world.script((Say("Still here."),))
    assert world.go_on().out == "Still here.\n"
    answer = " ".join(block.text for block in world.last if block.role == "assistant")
    assert [f"Half {number}." in answer for number in range(len(STRANGE[world.wire]))] == [True] * 6, answer
    assert answer.count("The rest.") >= len(finished), answer


def test_a_slow_machine_is_not_a_silent_provider(one_world: World) -> None:
    world = one_world
    world.script((Say("Here."),), (Say("Still here."),))
    (world.home / "config.toml").write_text("[limits]\nfirst_event = 1\nattempts = 1\n")
    ran = world.ask("hello", program=SLOW, cold=True)
    assert (ran.code, ran.out) == (0, "Here.\n"), ran.err
    assert len(world.provider.requests) == 1


@pytest.mark.parametrize(("encoding", "ways"), [("gzip", 1), ("gzip, gzip", 2)])
@pytest.mark.parametrize("kind", ["text/event-stream", "application/json"])
def test_a_bomb_is_not_unpacked_and_the_session_goes_on(world: World, kind: str, encoding: str, ways: int) -> None:
    reply = (Headers(content_type=kind, encoding=encoding), Raw(bomb(ways)), Cut())
    world.script(reply, reply, reply, (Say("Whole again."),))
    (world.home / "config.toml").write_text("[limits]\nbackoff = 0.01\nattempts = 3\n")
    ran = world.ask("hello", program=MEASURED, cold=True)
    assert (ran.code, "is a bug" in ran.err) == (75, False), ran.err
    assert f"sent a compressed response ({encoding})" in ran.err
    assert int(ran.err.splitlines()[-1]) * 1024 < ROOM
    assert {entry.fault for entry in world.entries() if isinstance(entry, RequestFailed)} == {"malformed"}
    assert world.go_on().out == "Whole again.\n"


@pytest.mark.parametrize("again", ["openai-chat:gpt-5.5", "ollama:qwen3"])
def test_an_answer_of_129_calls_goes_back_in_two_and_the_session_goes_on(one_world: World, again: str) -> None:
    world = one_world
    calls = tuple(Call("glob", {"pattern": f"no-{number}.*"}) for number in range(MANY))
    world.script((Say("I look."), *calls), (Say("Nothing there."),), (Say("Still here."),), (Say("And still."),))
    ran = world.run("-m", again, "--yolo", "-p", "look")
    assert (ran.code, ran.out) == (0, "Nothing there.\n"), ran.err
    assert world.go_on().out == "Still here.\n"
    sent_calls = [block for block in world.last if block.kind == "call"]
    assert [f'"no-{number}.*"' in block.text for number, block in enumerate(sent_calls)] == [True] * MANY
    assert len(world.results) == MANY
    messages = sent(world.provider.requests[-1])
    assert [len(message["tool_calls"]) for message in messages if message.get("tool_calls")] == [128, 1]

    verified = world.run("sessions", "verify", world.session.name)
    assert (verified.code, "rule" in verified.out) == (0, False), verified.out
    assert world.go_on("-m", MODELS["anthropic"]).out == "And still.\n"
