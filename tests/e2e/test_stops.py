"""Every other way a turn can end: it is reported truthfully, and the next prompt works."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass

import pytest
from launching import Agent, Block, Ran, World, alive, bash, gone_within

from holdfast.session.journal.entries import TurnEnded
from holdfast.session.model_notices import CLAUSES
from holdfast.testing.script import Call, Cut, Fail, Finish, Hold, Reply, Reset, Say, Wait
from launcher import COLD
from long_texts import prose
from polling import eventually, expect_within

WHOLE = (Say("Whole again."),)
TIMEOUT = "5" if COLD else "2"
"""Seconds: a turn's clock runs while a separate Python imports the provider's library."""


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What a provider does, and what must be seen of it.

    `partial` is what stays of the text, `model_note` what the model reads of it, `message` what the user reads.

    `times` counts the requests of the turn; every one of them gets `reply`.
    """

    reply: Reply
    code: int
    model_note: str
    message: str = ""
    partial: str = ""
    times: int = 1
    arguments: tuple[str, ...] = ()


HALF = Say("Half of it, ")
TIMED_OUT = f"the turn reached its time limit of {TIMEOUT} s"
TROUBLES = {
    "timeout, silent": Trouble(
        reply=(Hold("never"),), code=1, model_note=TIMED_OUT, arguments=("--timeout", TIMEOUT), message="time limit"
    ),
    "timeout, streaming": Trouble(
        reply=(HALF, Hold("never")), partial=HALF.text, code=1, model_note=TIMED_OUT, arguments=("--timeout", TIMEOUT)
    ),
    "500": Trouble(reply=(Fail(500),), code=75, times=4, model_note="provider error", message="status 500"),
    "429": Trouble(
        reply=(Fail(429, retry_after=0.02),), code=75, times=4, model_note="provider error", message="in 0.02 s"
    ),
    "429, much later": Trouble(
        reply=(Fail(429, retry_after=3600),), code=75, model_note="provider error", message="status 429"
    ),
    "400": Trouble(reply=(Fail(400, "No such seed."),), code=1, model_note="No such seed.", message="No such seed."),
    "401": Trouble(reply=(Fail(401),), code=1, model_note="status 401", message="Check the key"),
    "404": Trouble(reply=(Fail(404, "No such model."),), code=1, model_note="No such model.", message="No such model."),
    "reset before anything": Trouble(reply=(Reset(),), code=75, times=4, model_note="Connection to model"),
    "cut before anything": Trouble(reply=(Cut(),), code=75, times=4, model_note="provider error"),
    "cut in the middle": Trouble(reply=(HALF, Cut()), partial=HALF.text, code=75, model_note="without the end"),
    "reset in the middle": Trouble(
        reply=(HALF, Wait(0.1), Reset()), partial=HALF.text, code=75, model_note="Connection to model"
    ),
    "cut in a call": Trouble(
        reply=(HALF, Call("bash", {"command": "echo x >> ran"}), Cut()),
        partial=HALF.text,
        code=75,
        model_note="The tool calls you had begun to write in it (bash) were not started.",
    ),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_after_trouble_the_next_prompt_works(world: World, name: str) -> None:
    trouble = TROUBLES[name]
    world.script(*[trouble.reply] * trouble.times, WHOLE)
    ran = world.ask("the first prompt", *trouble.arguments)
    assert ran.code == trouble.code, ran.err
    assert ran.out == (trouble.partial + "\n" if trouble.partial else "")
    assert trouble.message in ran.err
    assert trouble.model_note in ran.err or trouble.partial
    assert ran.err.count("retrying ") == trouble.times - 1
    assert len(world.provider.requests) == trouble.times
    assert world.go_on().out == "Whole again.\n"
    prompt, note, words = world.user_texts
    assert (prompt, words) == ("the first prompt", "go on")
    # A provider's own words are for the user: the model reads in holdfast's words that the provider failed.
    ours = trouble.model_note == TIMED_OUT or "were not started" in trouble.model_note
    assert (trouble.model_note if ours else CLAUSES["provider"]) in note
    assert ("user stopped" in note) is False
    assert [block.text for block in world.last if block.role == "assistant"] == (
        [trouble.partial] if trouble.partial else []
    )
    assert world.lines("ran") == []


def test_retries_are_reported_to_programs_and_one_that_helps_is_no_trouble(world: World) -> None:
    world.script((Fail(500),), (Fail(429, retry_after=0.02),), WHOLE)
    ran = world.ask("hello", "--output-format", "stream-json")
    assert ran.code == 0
    first, second = ran.of("error")
    assert (first["attempt"], first["status"], first["fault"], first["retry_in"]) == (1, 500, "overloaded", 0.01)
    assert (second["attempt"], second["status"], second["fault"], second["retry_in"]) == (2, 429, "rate_limited", 0.02)
    assert world.last == [Block("user", "text", "hello")]


def test_sigint_while_text_streams(world: World) -> None:
    world.script((HALF, Hold("here"), Say("never sent")), WHOLE)
    agent = world.start("-m", world.model, "-p", "the first prompt", "--output-format", "stream-json")
    eventually(lambda: HALF.text in agent.so_far.out)
    *_, response, result = interrupted(agent).lines
    assert (response["content"], response["delta"], response["cut"]) == (HALF.text, False, "user")
    assert (result["cause"], result["result"], result["exit_code"]) == ("user", HALF.text, 130)
    world.go_on()
    assert world.last[1] == Block("assistant", "text", HALF.text)
    prompt, note, words = world.user_texts
    assert (prompt, words) == ("the first prompt", "go on")
    assert "the user stopped the turn" in note
    assert "cut off" in note


def test_sigint_while_the_server_is_silent(world: World) -> None:
    world.script((Hold("silent"),), WHOLE)
    agent = world.start("-m", world.model, "-p", "the first prompt")
    world.provider.wait_for("silent")
    assert interrupted(agent).out == ""
    world.go_on()
    assert world.user_texts == [
        "the first prompt",
        "[Note from holdfast: the user stopped the turn; the previous turn ended there.]",
        "go on",
    ]


def test_sigint_while_it_waits_to_try_again(world: World) -> None:
    world.script((Fail(429, retry_after=50),), WHOLE)
    agent = world.start("-m", world.model, "-p", "the first prompt")
    eventually(lambda: "Attempt 1/4 failed (429" in agent.so_far.err)
    interrupted(agent)
    world.go_on()
    assert "the user stopped the turn" in world.user_texts[1]
    assert len(world.provider.requests) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_command_runs(world: World, number: signal.Signals) -> None:
    tree = "echo $$ >> pids; sleep 300 & echo $! >> pids; setsid sleep 300 & echo $! >> pids; trap '' TERM; "
    world.script(
        (bash("echo one >> ran"), bash(tree + "echo two >> ran; echo half of it; wait"), bash("echo 3")), WHOLE
    )
    agent = world.start("-m", world.model, "--yolo", "-p", "run it")
    eventually(lambda: world.lines("ran") == ["one", "two"] and len(world.lines("pids")) == 3)
    pids = world.lines("pids")
    assert len(alive(pids)) == 3
    agent.send(number)
    gone_within(1, pids)
    assert agent.wait().code == 130
    cause = "the user stopped the turn" if number == signal.SIGINT else "told to exit by a signal (SIGTERM)"
    world.go_on()
    done, running, waiting = world.results
    assert done.startswith("(no output)\n(exit code 0")
    assert running.startswith("Interrupted: ")
    assert cause in running
    assert "half of it" in running
    assert waiting.startswith("Not started: ")
    assert cause in waiting
    assert world.lines("ran") == ["one", "two"]


CLOSING = """
import asyncio, pathlib, sys
from holdfast.agent.agent import Agent
from holdfast.ui.main import main
close = Agent.close
async def slow(self):
    pathlib.Path("closing").touch()
    while not pathlib.Path("struck").exists():
        await asyncio.sleep(0.01)
    await close(self)
Agent.close = slow
sys.exit(main())
"""
"""The product, which takes its time to close what a turn has used."""


def test_a_stop_while_a_turn_that_ended_is_closed_waits_for_no_reader(one_world: World) -> None:
    world = one_world
    world.script((Say(prose(150_000), chunk=4000),))  # more than a pipe holds
    reader, writer = os.pipe()
    agent = world.start(
        "-m", world.model, "-p", "go", "--output-format", "stream-json", program=CLOSING, stdout=writer, cold=True
    )
    os.close(writer)
    eventually((world.folder / "closing").exists)
    agent.send(signal.SIGINT)
    (world.folder / "struck").touch()
    assert agent.wait().code == 130
    os.close(reader)
    assert [entry.cause for entry in world.entries() if isinstance(entry, TurnEnded)] == ["finished"]


def interrupted(agent: Agent) -> Ran:
    since = time.monotonic()
    agent.send(signal.SIGINT)
    ran = agent.wait()
    expect_within(2, since)
    assert ran.code == 130
    return ran


def test_a_timeout_while_a_command_runs_is_no_stop_by_the_user(world: World) -> None:
    limit = "8"  # on a busy machine the command begins late
    world.script((bash("echo half of it; sleep 300"), Call("read", {"path": "a"})), WHOLE)
    ran = world.ask("run it", "--timeout", limit, "--output-format", "json")
    assert ran.code == 1
    result = json.loads(ran.out)
    assert (result["stop_reason"], result["cause"], result["detail"]) == ("timeout", "timeout", f"{limit} s")
    world.go_on()
    cause = f"the turn reached its time limit of {limit} s (the user did not stop it)"
    assert cause in world.results[0]
    assert "half of it" in world.results[0]
    assert world.results[1].startswith(f"Not started: {cause}")
    assert cause in world.user_texts[1]


def test_a_call_that_needs_approval_ends_a_run_without_a_user(world: World) -> None:
    (world.folder / "a.txt").write_text("what is in it\n")
    world.script((Call("read", {"path": "a.txt"}), bash("echo x >> ran"), Call("write", {"path": "b", "content": ""})))
    ran = world.run("-m", world.model, "-p", "run it", "--on-approval", "stop")
    assert ran.code == 3
    assert "The call 'run: echo x >> ran' runs a command: it writes 'ran'." in ran.err
    world.script((bash("echo y >> ran"),), WHOLE)
    stopped = world.run("-c", "-p", "not that", "--output-format", "json", "--on-approval", "stop")
    assert stopped.code == 3
    assert json.loads(stopped.out)["detail"] == "The call 'run: echo y >> ran' runs a command: it writes 'ran'."
    read, refused, unreached = world.results
    assert read == "1\twhat is in it"
    assert refused == "Not started; not approved, the user wrote instead. It had no effect."
    assert unreached.startswith("Not started: a call needed the user's approval and they were not there to give it (")
    assert world.user_texts == ["run it", "not that"]
    assert world.go_on().out == "Whole again.\n"
    assert world.lines("ran") == []


def test_a_call_that_no_user_can_approve_is_denied_and_the_run_goes_on(world: World) -> None:
    write = Call("write", {"path": "b.txt", "content": "x"})
    world.script((bash("echo x >> ran"), write), WHOLE, (bash("echo y >> ran"),), WHOLE)
    ran = world.run("-m", world.model, "-p", "run it")
    assert (ran.code, ran.out) == (0, "Whole again.\n")
    assert "⊘ bash echo x >> ran needs approval; not run. Use --permission-mode accept-edits, or -y" in ran.err
    assert "⊘ write b.txt needs approval; not run. Use --permission-mode accept-edits" in ran.err
    assert "denied: write b.txt (allow it with --permission-mode accept-edits)" in ran.err
    first, second = world.results
    assert "no user can be asked in this run" in first
    assert "no user can be asked in this run" in second
    again = world.run("-c", "-p", "once more", "--output-format", "json")
    assert again.code == 0
    (denied,) = json.loads(again.out)["denied"]
    assert (denied["name"], json.loads(denied["arguments"])) == ("bash", {"command": "echo y >> ran"})
    assert denied["reason"] == world.results[-1]
    assert denied["allow_with"] == "--permission-mode accept-edits"
    assert world.lines("ran") == []
    world.verify()


def test_a_denied_call_does_not_end_the_turn(world: World) -> None:
    world.script((Call("write", {"path": "a.txt", "content": "x"}), Call("glob", {"pattern": "*"})), WHOLE, WHOLE)
    ran = world.run("-m", world.model, "-p", "write it", "--permission-mode", "plan")
    assert (ran.code, ran.out) == (0, "Whole again.\n")
    assert "⊘ write a.txt denied: " in ran.err
    denied, globbed = world.results
    assert denied.startswith("Plan mode allows only reading: 'write a.txt' changes files")
    assert not denied.startswith(globbed)
    assert not (world.folder / "a.txt").exists()
    world.go_on()
    assert world.user_texts == ["write it", "go on"]


def test_max_steps_are_exact(world: World) -> None:
    world.script(*[(bash(f"echo {number} >> ran"),) for number in range(5)])
    ran = world.ask("run", "--max-steps", "3", "--output-format", "json")
    assert ran.code == 1
    result = json.loads(ran.out)
    assert (result["stop_reason"], result["steps"]) == ("max_steps", 3)
    assert len(world.provider.requests) == 3
    assert world.lines("ran") == ["0", "1", "2"]
    world.script(WHOLE)
    assert world.run("-c", "-p", "go on", "--yolo", "--max-steps", "3").code == 0  # each turn counts from 0
    assert "limit of model requests" in world.user_texts[1]
    assert len(world.results) == 5


def test_a_run_ends_before_the_request_that_it_cannot_pay(world: World) -> None:
    world.script(*[(bash(f"echo {number} >> ran"),) for number in range(5)])
    ran = world.ask("run", "--max-cost", "0.000001", "--output-format", "json")
    assert ran.code == 5, ran.err
    result = json.loads(ran.out)
    assert (result["stop_reason"], result["cause"], result["steps"]) == ("max_cost", "max_cost", 1)
    assert result["detail"].endswith(" of $1e-06")
    assert world.lines("ran") == ["0"]
    world.script(WHOLE)
    assert world.run("-c", "-p", "go on", "--yolo", "--max-cost", "1").code == 0
    assert "the run reached its cost limit" in world.user_texts[1]
    world.verify()
    refused = world.run("-m", "openai-chat:of-ones-own", "-p", "x", "--max-cost", "1")
    assert refused.code == 2
    assert "--max-cost cannot be enforced: the price of 'openai-chat:of-ones-own' is not known." in refused.err
    assert world.run("-p", "x", "--max-cost", "nan").code == 2


def test_the_output_limit_and_a_refusal(world: World) -> None:
    world.script((HALF, bash("echo x >> ran"), Finish("length")), (Say("No."), Finish("refusal")), WHOLE)
    assert world.ask("first").code == 1
    assert world.run("-c", "-p", "second", "--yolo").code == 1
    world.go_on()
    assert world.lines("ran") == []
    assert world.results == []
    assert [block.text for block in world.last if block.role == "assistant"] == [HALF.text]  # no refusal is sent back
