"""What a provider can answer that ended sessions or ate memory: the session goes on, in bounds, and says why."""

from __future__ import annotations

import pytest
from launching import MODELS, World
from launching import messages as sent

from bombs import SIZE, bomb
from holdfast.session.entries import RequestFailed
from holdfast.testing.script import Call, Cut, Headers, Raw, Say

MANY = 129
"""One call more than OpenAI takes back in a message."""

ROOM = SIZE // 3
"""Bytes of memory that an agent may have had at most: it has about a fifth of that."""

MEASURED = """
import re, sys
from holdfast.ui.cli import main
code = main()
print(re.search("VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)  # its own, not its parent's
sys.exit(code)
"""
"""The product, which says on the last line of standard error how many KB of memory it had at most."""

SLOW = """
import sys, time
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name in ("pydantic_ai", "openai"):
            time.sleep(1.5)
sys.meta_path.insert(0, Slow())
from holdfast.ui.cli import main
sys.exit(main())
"""
"""The product, on a machine that takes its time to load the libraries of a provider."""


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
    assert f"packed its response ({encoding})" in ran.err
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
    asked = [block for block in world.last if block.kind == "call"]
    assert [f'"no-{number}.*"' in block.text for number, block in enumerate(asked)] == [True] * MANY
    assert len(world.results) == MANY
    messages = sent(world.provider.requests[-1])
    assert [len(message["tool_calls"]) for message in messages if message.get("tool_calls")] == [128, 1]

    verified = world.run("sessions", "verify", world.session.name)
    assert (verified.code, "rule" in verified.out) == (0, False), verified.out
    assert world.go_on("-m", MODELS["anthropic"]).out == "And still.\n"
