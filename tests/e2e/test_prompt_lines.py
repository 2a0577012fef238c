"""Prompts as JSON lines on standard input, one turn after another, by the real program."""

from __future__ import annotations

import base64
import json
import os
import signal

from launching import Ran, World, bash

from holdfast.session.journal.entries import PromptAccepted, Queued, TurnEnded
from holdfast.testing.script import Fail, Hold, Say
from polling import eventually
from shown_images import png

LINES = ("--output-format", "stream-json", "--input-format", "stream-json", "-p")


def line(content: object, **more: object) -> bytes:
    message = {"role": "user", "content": content}
    return json.dumps({"type": "user", "message": message, "session_id": "x", **more}).encode() + b"\n"


def control(subtype: str, request: str) -> bytes:
    message = {"type": "control_request", "request_id": request, "request": {"subtype": subtype}}
    return json.dumps(message).encode() + b"\n"


def run(world: World, *lines: bytes, options: tuple[str, ...] = ()) -> Ran:
    return world.run("-m", world.model, "--yolo", *options, *LINES, stdin=b"".join(lines))


def results(ran: Ran) -> list[tuple[int, str, str]]:
    return [(each["turn"], each["cause"], each["result"]) for each in ran.of("result")]


def test_each_line_is_a_turn_with_its_result_in_their_order(world: World) -> None:
    world.script((bash("echo 1 >> ran"),), (Say("one"),), (Say("two"),), (Say("three"),))
    ran = run(world, line("first"), line([{"type": "text", "text": "second"}]), b"\n", line("third"))
    assert ran.code == 0, ran.err
    assert results(ran) == [(1, "finished", "one"), (2, "finished", "two"), (3, "finished", "three")]
    assert world.user_texts == ["first", "second", "third"]
    assert ran.lines[0]["type"] == "init"
    assert ran.lines[-1]["type"] == "result"
    acknowledged = [each["content"] for each in ran.lines if each["type"] == "queued" or each.get("role") == "user"]
    assert set(acknowledged) == {"first", "second", "third"}


def test_a_line_that_cannot_be_used_is_reported_with_its_number_and_costs_no_work(world: World) -> None:
    world.script((Say("one"),), (Say("two"),))
    bad = [
        b"not json\n",
        b'{"type": "tea"}\n',
        line(""),
        line([{"type": "image", "source": {"type": "url"}}]),
        b"\xff\n",
    ]
    ran = run(world, line("first"), *bad, line("last").rstrip(b"\n"))
    assert ran.code == 2
    assert [result[2] for result in results(ran)] == ["one", "two"]
    errors = [each for each in ran.of("error") if "line" in each]
    assert [each["line"] for each in errors] == [2, 3, 4, 5, 6]
    assert all(each["message"].startswith(f"Line {each['line']} of the input was skipped: ") for each in errors)


def test_an_image_of_a_line_is_shown_to_the_model(one_world: World) -> None:
    one_world.script((Say("I see"),))
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png()).decode()}
    ran = run(one_world, line([{"type": "text", "text": "look"}, {"type": "image", "source": source}]))
    assert ran.code == 0, ran.out
    (prompt,) = [entry for entry in one_world.entries() if isinstance(entry, PromptAccepted)]
    assert [image.data for image in prompt.images] == [png()]


def test_a_turn_that_fails_is_reported_and_the_next_prompt_is_sent(world: World) -> None:
    world.script((Fail(400, "no"),), (Say("two"),))
    ran = run(world, line("first"), line("second"))
    assert ran.code == 1
    assert [(turn, cause) for turn, cause, _ in results(ran)] == [(1, "provider"), (2, "finished")]


def test_an_interrupt_ends_the_turn_and_not_the_run(world: World) -> None:
    world.script((Say("half of it"), Hold("never")), (Say("two"),))
    os.mkfifo(pipe := world.home / "pipe")
    keep = os.open(pipe, os.O_RDWR)
    os.write(keep, line("first"))
    agent = world.start("-m", world.model, *LINES, stdin_from=pipe)
    eventually(lambda: "half of it" in agent.so_far.out)
    os.write(keep, control("interrupt", "a") + control("tea", "b") + line("second"))
    os.close(keep)
    ran = agent.wait()
    assert ran.code == 130
    assert [(turn, cause) for turn, cause, _ in results(ran)] == [(1, "user"), (2, "finished")]
    answers = {each["response"]["request_id"]: each["response"]["subtype"] for each in ran.of("control_response")}
    assert answers == {"a": "success", "b": "error"}
    world.verify()


def test_what_was_acknowledged_is_there_after_a_kill_and_is_not_sent_by_itself(world: World) -> None:
    world.script((Say("half of it"), Hold("never")), (Say("Whole again."),))
    agent = world.start("-m", world.model, *LINES, stdin=line("first") + line("second") + line("third"))
    eventually(lambda: len(agent.so_far.of("queued")) == 2 and bool(agent.so_far.of("message")[1:]))
    agent.kill()
    assert [entry.text for entry in world.entries() if isinstance(entry, Queued)] == ["second", "third"]
    world.go_on()
    assert world.user_texts[-1] == "go on"


def test_a_signal_while_it_waits_for_a_line_ends_the_run(one_world: World) -> None:
    world = one_world
    world.script((Say("one"),))
    os.mkfifo(pipe := world.home / "pipe")
    keep = os.open(pipe, os.O_RDWR)
    try:
        os.write(keep, line("first"))
        agent = world.start("-m", world.model, *LINES, stdin_from=pipe)
        eventually(lambda: bool(agent.so_far.of("result")))
        agent.send(signal.SIGTERM)
        assert agent.wait().code == 130
    finally:
        os.close(keep)
    assert [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)] == ["finished"]


def test_what_does_not_fit_is_refused(one_world: World) -> None:
    for options in (("-p", "x", "--output-format", "stream-json"), ("-p",), ()):
        ran = one_world.run("-m", one_world.model, *options, "--input-format", "stream-json", stdin=line("x"))
        assert ran.code == 2, options
    assert "Standard input has no prompt" in run(one_world).err
