"""What goes in and comes out of a run: standard input, the three formats, readers that leave, what is imported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launching import PRODUCT, World, bash

from holdfast.testing.script import Call, Fail, Hold, Say, Think
from long_texts import prose
from polling import eventually

WHOLE = (Say("Whole again."),)
# docs/reference/events.md, as a program would rely on it.
FIELDS = {
    "init": [
        {"session_id", "model", "effort", "permission_mode", "cwd", "tools", "resumed", "saved", "last_turn"}
        | {"mcp_servers"}
    ],
    "message": [{"role", "content", "turn"}, {"role", "content", "delta"}, {"role", "content", "delta", "cut"}],
    "thinking": [{"content", "delta"}],
    "tool_use": [{"index", "name", "arguments", "delta"}, {"id", "name", "arguments", "delta"}],
    "approval": [{"id", "question"}, {"id", "question", "level", "hosts"}],
    "tool_start": [{"id", "effect"}, {"id", "effect", "confined"}],
    "tool_output": [{"id", "content", "delta"}],
    "tool_result": [{"id", "outcome", "content", "seconds"}, {"id", "outcome", "content", "late"}],
    "error": [{"message", "fault", "status", "attempt", "retry_in", "retry_unstreamed"}, {"message"}],
    "damage": [{"findings"}],
    "recovered": [{"turn", "message"}],
    "result": [
        {"session_id", "turn", "stop_reason", "cause", "detail", "is_error", "exit_code", "result", "steps", "usage"}
        | {"denied", "calls", "tasks_ended", "receipt", "unmet"}
    ],
}


def test_stream_json_is_what_is_documented(world: World) -> None:
    strange_text = "line\u2028separator \x1b[31m"
    world.script(
        (Fail(500),), (Think("Hm."), Say(strange_text), bash("echo hello"), Call("read", {"path": "no"})), WHOLE
    )
    ran = world.ask("hello", "--output-format", "stream-json")
    assert ran.out.isascii()
    assert len(ran.out.splitlines()) == len(ran.lines)
    world.script((Hold("here"),))
    agent = world.start("-c", "-p", "again", "--output-format", "stream-json")
    world.provider.wait_for("here")
    agent.kill()
    world.script((bash("touch it"),))
    second = world.run("-c", "-p", "once more", "--output-format", "stream-json", "--on-approval", "stop")
    lines = ran.lines + second.lines
    for line in lines:
        kind = line.pop("type")
        assert set(line) in FIELDS[kind]
    assert [line["type"] for line in ran.lines][:2] == ["init", "message"]
    assert [second.lines[0]["resumed"], second.lines[-1]["cause"]] == [True, "approval"]
    assert {line["type"] for line in ran.lines + second.lines} == set(FIELDS) - {"damage"}
    result = ran.lines[-1]
    assert (result["result"], result["exit_code"], result["is_error"], result["steps"]) == ("Whole again.", 0, False, 2)
    assert result["calls"] == sum(line["type"] == "tool_start" for line in ran.lines)
    assert result["usage"]["input_tokens"] > 0


def test_json_is_one_object(world: World) -> None:
    world.script((Say("I look."), bash("echo hello")), (Say("Two\nlines."),))
    ran = world.ask("hello", "--output-format", "json")
    assert ran.out.count("\n") == 1
    assert json.loads(ran.out)["result"] == "Two\nlines."
    assert ran.err == ""


def test_standard_input_is_appended_to_the_prompt(world: World) -> None:
    world.script(WHOLE, WHOLE)
    world.run("-m", world.model, "-p", "explain:", stdin="a — b\n".encode())
    assert world.user_texts == ["explain:\n\na — b\n"]
    world.run("-c", "-p", stdin=b"only this")
    assert world.user_texts[-1] == "only this"


def test_a_reader_that_leaves(one_world: World) -> None:
    world = one_world
    world.script((bash("echo one >> ran"),), (Say(prose(10_000), delay=0.002),), WHOLE)
    reader, writer = os.pipe()
    agent = world.start(
        *("-m", world.model, "--yolo", "-p", "much", "--output-format", "stream-json"), stdout=writer, cold=True
    )
    os.close(writer)
    assert os.read(reader, 1) == b"{"
    os.close(reader)
    ran = agent.wait()
    assert ran.code == 130
    assert ran.err == ""
    world.go_on()
    assert world.user_texts[0] == "much"
    assert len(world.lines("ran")) <= 1


def test_a_reader_that_leaves_before_the_answer(one_world: World) -> None:
    world = one_world
    world.script((Hold("here"), Say("The answer.")), WHOLE)
    reader, writer = os.pipe()
    agent = world.start("-m", world.model, "-p", "hello", stdout=writer, cold=True)
    os.close(writer)
    world.provider.wait_for("here")
    os.close(reader)
    world.provider.release("here")
    ran = agent.wait()
    assert "Traceback" not in ran.err
    assert "Exception" not in ran.err
    world.go_on()
    assert [block.text for block in world.last if block.role == "assistant"] == ["The answer."]


def test_another_folder(world: World) -> None:
    world.script((Call("read", {"path": "a.txt"}),), WHOLE, WHOLE)
    there = world.folder / "there"
    there.mkdir()
    (there / "a.txt").write_text("there\n")
    assert world.run("-m", world.model, "-C", "there", "-p", "hello").code == 0
    assert world.results == ["1\tthere"]
    assert world.run("-c", "-p", "go on").code == 2  # the session is the other folder's
    assert world.run("-c", "-C", "there", "-p", "go on").code == 0


@pytest.mark.parametrize("command", [["--version"], ["--help"], ["sessions", "list"], ["-c", "-p", "no session"]])
def test_what_needs_no_model_imports_none(holdfast_home: Path, command: list[str]) -> None:
    program = f"""
import atexit, sys
atexit.register(lambda: print(sorted({{"pydantic_ai", "textual", "openai", "anthropic"}} & set(sys.modules))))
{PRODUCT}
"""
    assert os.environ["HOLDFAST_HOME"] == str(holdfast_home)
    ran = subprocess.run([sys.executable, "-c", program, *command], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 2), ran.stderr
    assert ran.stdout.endswith("[]\n")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_stopped_while_a_library_is_imported(world: World, number: signal.Signals) -> None:
    """The real start, nothing of it warm: the prompt is durable before the import, and a stop does not wait for it."""
    slow = world.home / "slow" / "pydantic_ai"
    slow.mkdir(parents=True)
    (slow / "__init__.py").write_text("import time; time.sleep(600)")
    path = os.pathsep.join([str(slow.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    how = ("-m", world.model, "-p", "the first prompt", "--output-format", "stream-json")
    agent = world.start(*how, environ=world.environ(PYTHONPATH=path), cold=True)
    eventually(lambda: "the first prompt" in agent.so_far.out)
    agent.send(number)
    ran = agent.wait()
    assert ran.code == (-9 if number == signal.SIGKILL else 130)
    assert world.provider.requests == ()
    world.script(WHOLE)
    assert world.go_on(cold=True).out == "Whole again.\n"
    assert world.user_texts[0] == "the first prompt"
