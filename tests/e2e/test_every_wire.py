"""The wires beyond the two that every story walks: work, a stop, a kill, a failing provider, and going to those."""

from __future__ import annotations

import signal

from launching import MODELS, WALKED, World, bash

from holdfast.testing.script import Call, Cut, Fail, Hold, Say, Think
from polling import eventually

THOUGHT = "a thought of its own"


def test_a_session_works_and_goes_on(other_world: World) -> None:
    world = other_world
    (world.folder / "notes").write_text("the contents")
    looking = (Think(THOUGHT), Say("I look."), Call("read", {"path": "notes"}), bash("echo hello"))
    world.script((Fail(500),), looking, (Think("and another"), Say("Done.")), (Say("Still here."),))
    ran = world.ask("look at it", "--output-format", "json")
    assert (ran.code, ran.lines[0]["result"]) == (0, "Done."), ran.err
    assert ran.lines[0]["usage"]["output_tokens"] > 0
    assert world.go_on().out == "Still here.\n"
    assert [(block.role, block.kind, block.name) for block in world.last] == [
        ("user", "text", ""),
        *(("assistant", "thinking", ""), ("assistant", "text", ""), ("assistant", "call", "read")),
        *(("assistant", "call", "bash"), ("user", "result", "read"), ("user", "result", "bash")),
        *(("assistant", "thinking", ""), ("assistant", "text", ""), ("user", "text", "")),
    ]
    assert [block.text for block in world.last if block.kind == "thinking"] == [THOUGHT, "and another"]
    assert "the contents" in world.results[0]
    assert "hello" in world.results[1]


def test_after_a_stop_a_kill_and_an_end_that_is_none_the_next_prompt_works(other_world: World) -> None:
    world = other_world
    world.script((Think("hm"), Say("half of it"), Hold("stop here")))
    agent = world.start("-m", world.model, "--yolo", "-p", "say something")
    world.provider.wait_for("stop here")
    eventually(lambda: world.checkpointed() == "half of it")
    agent.send(signal.SIGINT)
    assert agent.wait().code == 130

    world.script((Call("read", {"path": "no"}), bash("echo started > it; sleep 300")), (Say("I know."),))
    agent = world.start("-c", "--yolo", "-p", "run it")
    eventually(lambda: world.lines("it") == ["started"])
    agent.kill()
    assert world.go_on().out == "I know.\n"
    assert "half of it" in [block.text for block in world.last if block.role == "assistant"]
    assert world.results[1].startswith("Interrupted:")

    world.script((Say("cut"), Call("read", {"path": "x"}), Cut()), (Say("Whole again."),))
    ran = world.run("-c", "--yolo", "-p", "and now")
    assert ran.code == 75
    assert "ended its response before the end event" in ran.err
    assert world.go_on().out == "Whole again.\n"
    assert len(world.results) == 2


def test_a_session_goes_to_the_other_wires_and_back(other_world: World) -> None:
    world = other_world
    unread = "{}" if world.wire == "gemini" else "{"  # half an object is no call there
    calls = (Think(THOUGHT), Call("glob", {"pattern": "*"}), Call("unknown", unread))
    models = [world.model, *(MODELS[wire] for wire in WALKED), world.model]
    for number, model in enumerate(models):
        world.script(calls, (Say(str(number)),))
        ran = world.run(*([] if number == 0 else ["-c"]), "-m", model, "--yolo", "-p", "look")
        assert (ran.code, ran.out) == (0, f"{number}\n"), ran.err
    assert [request.wire for request in world.provider.requests[::2]] == [world.wire, *WALKED, world.wire]
    assert [block.text for block in world.last if block.kind == "thinking"] == [THOUGHT] * 2  # of four: its own
    assert len(world.results) == 8


def test_a_session_with_those_who_have_rules_of_their_own_on_a_wire(one_world: World) -> None:
    world = one_world
    models = ["mistral:mistral-medium-latest", "bedrock:anthropic.claude-sonnet-5-5", "ollama:qwen3", "mistral:other"]
    for number, model in enumerate(models):
        world.script(
            (Say("I look."), Call("glob", {"pattern": "*"}), Call("read", {"path": "no"})), (Say(str(number)),)
        )
        ran = world.run(*([] if number == 0 else ["-c"]), "-m", model, "--yolo", "-p", "look")
        assert (ran.code, ran.out) == (0, f"{number}\n"), ran.err
    mistral, bedrock = "/mistral/v1/chat/completions", "/anthropic/v1/messages"
    ollama = "/ollama/v1/chat/completions"
    assert [request.path for request in world.provider.requests[::2]] == [mistral, bedrock, ollama, mistral]
    assert len(world.results) == 8
