"""What a provider can answer that ended sessions or ate memory: the session goes on, in bounds, and says why."""

from __future__ import annotations

import pytest
from launching import MODELS, World
from launching import messages as sent

from holdfast.testing.script import Call, Say

MANY = 129
"""One call more than OpenAI takes back in a message."""


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
