"""One session over many processes: who may write it, copies of it, other models, a past that does not change."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest
from launching import MODELS, PRODUCT, Block, World, bash, blocks, messages
from test_terminal import screen

from holdfast.session.journal.entries import CallStarted, ModelChanged, ProcessStarted, PromptAccepted, SessionOpened
from holdfast.session.model_notices import CLAUSES
from holdfast.testing.script import Call, Fail, Hold, Say, Think
from holdfast.tools.process.process_table import below, by_parent, living
from polling import eventually, slowness
from skips import needs

WHOLE = (Say("Whole again."),)
TELLS_IMPORTS = f"""
import atexit, sys
atexit.register(lambda: sys.stderr.write(f"heavy: {{sorted({{'pydantic_ai', 'openai'}} & set(sys.modules))}}"))
{PRODUCT}
"""
PLAIN = (sys.executable, "-m", "holdfast", "--version")


def test_a_second_process_reports_which_one_holds_the_session(one_world: World) -> None:
    world = one_world
    world.script((Hold("busy"), Say("First.")))
    first = world.start("-m", world.model, "-p", "the first prompt")
    world.provider.wait_for("busy")
    since = time.monotonic()
    subprocess.run(PLAIN, check=True, capture_output=True, env=world.environ())
    plain, since = time.monotonic() - since, time.monotonic()
    second = world.run("-c", "-p", "me too", program=TELLS_IMPORTS, cold=True)
    took = time.monotonic() - since
    assert second.code == 2
    assert f"is already open in another process (pid {first.pid} on " in second.err
    assert "--fork" in second.err
    assert second.err.endswith("heavy: []")
    assert took - plain < 1 or took - plain < slowness()
    world.provider.release("busy")
    assert first.wait().out == "First.\n"
    assert [entry.text for entry in world.entries() if isinstance(entry, PromptAccepted)] == ["the first prompt"]


@needs("bubblewrap")
@pytest.mark.parametrize("mode", ["ask", "accept-edits"])
def test_a_session_whose_command_runs_behind_a_wall_is_refused_to_a_second_process(one_world: World, mode: str) -> None:
    """The second one neither ends the command nor starts its own, and says the true reason, however it is asked."""
    world = one_world
    world.one_past = False
    world.script([bash("echo begun; sleep 300 & wait; cat a.txt")])
    first = world.start("-m", world.model, "--permission-mode", mode, "-p", "the first prompt")
    eventually(lambda: bool(world.sessions) and any(isinstance(each, ProcessStarted) for each in world.entries()))
    (started,) = (entry for entry in world.entries() if isinstance(entry, CallStarted))
    assert started.confined == "read"
    before = world.entries()
    eventually(lambda: descendants(first.pid) >= 5)  # supervisor, watchdog, bubblewrap, the shell, and sleep
    alive = descendants(first.pid)
    for words in (("-c",), ("-r", world.session.name), ("-r", world.session.name, "--sandbox", "require")):
        second = world.run(*words, "-p", "me too")
        assert second.code == 2
        assert f"Session {world.session.name!r} is already open in another process (pid {first.pid} on " in second.err
        assert "bug" not in second.err
    assert world.entries() == before
    assert descendants(first.pid) == alive
    first.send(signal.SIGINT)
    assert first.wait().code == 130
    world.script((Say("Mine now."),))
    third = world.run("-c", "-p", "now me")
    assert (third.code, third.out) == (0, "Mine now.\n")


def descendants(pid: int) -> int:
    """Return how many processes live below this one."""
    return len(below(pid, by_parent(living())))


def test_continue_takes_the_newest_session_that_is_free(one_world: World) -> None:
    """And says that a newer one is open elsewhere."""
    world = one_world
    world.one_past = False
    world.script((Say("Older."),), (Hold("busy"), Say("Newer.")), (Say("Continued."),))
    world.run("-m", world.model, "-p", "the older prompt")
    newer = world.start("-m", world.model, "-p", "the newer prompt")
    world.provider.wait_for("busy")
    again = world.run("-c", "-p", "go on")
    assert (again.code, again.out) == (0, "Continued.\n")
    assert "is open in another process: continuing the one before it." in again.err
    with screen(world, "-c") as terminal:
        terminal.wait_text("the older prompt")
    world.provider.release("busy")
    assert newer.wait().out == "Newer.\n"


def test_a_fork_works_while_the_original_runs(world: World) -> None:
    world.one_past = False
    world.script((bash("echo one >> ran"),), (Say("First."),))
    world.script((Say("I work."), bash("echo two >> ran; sleep 300"), bash("true")))
    world.ask("the first prompt")
    original = world.session
    agent = world.start("-c", "--yolo", "-p", "the second prompt")
    eventually(lambda: world.lines("ran") == ["one", "two"])
    world.script(WHOLE)
    before = world.provider.requests[-1]
    forked = world.run("-c", "--fork", "--yolo", "-p", "in the copy")
    assert (forked.code, forked.out) == (0, "Whole again.\n")
    copied = world.provider.requests[-1]
    assert messages(copied)[: len(messages(before))] == messages(before)
    assert Block("assistant", "text", "I work.") in world.last
    running, waiting = world.results[1:]
    assert running.startswith(f"Not finished in this copy: {CLAUSES['fork']} with this call")
    assert waiting.startswith(f"Not started in this copy: {CLAUSES['fork']}")
    assert CLAUSES["fork"] in world.user_texts[-2]
    assert "crash" not in str(world.last)
    assert world.lines("ran") == ["one", "two"]
    world.script((Say("Original."),))
    agent.send(signal.SIGINT)
    assert agent.wait().code == 130
    world.run("-r", original.name, "-p", "go on")
    assert messages(world.provider.requests[-1])[: len(messages(before))] == messages(before)
    assert "in the copy" not in str(world.last)
    (copy,) = (session for session in world.sessions if session != original)
    opened = next(entry for entry in world.entries(copy) if isinstance(entry, SessionOpened))
    assert opened.forked_from == original.name


def test_changing_the_model_and_back_with_reasoning_on_the_way(world: World) -> None:
    """Reasoning goes back to its maker alone; every request carries the journalled system prompt (`World.verify`)."""
    there, back = world.model, next(model for wire, model in MODELS.items() if wire != world.wire)
    (world.folder / "a.txt").write_text("x\n")

    def thinks(number: int) -> list[tuple[Think | Say | Call, ...]]:
        thought = Think(f"thought {number}")
        return [(thought, Say("I read."), Call("read", {"path": "a.txt"})), (Say(f"answer {number}"),)]

    for number, model in enumerate([there, back, there, back]):
        world.script(*thinks(number))
        how = ("-m", model, "-p", f"prompt {number}")
        assert world.run(*(["-c"] if number else []), *how).out == f"answer {number}\n"
        thoughts = [block.text for block in world.last if block.kind == "thinking" and block.text]
        expected = [f"thought {turn}" for turn in range(number % 2, number + 1, 2)]
        assert thoughts == expected
        assert [block.text for block in world.last if block.kind == "result"] == ["1\tx"] * (number + 1)
    assert [request.wire for request in world.provider.requests[::2]] == [
        model.partition(":")[0] for model in [there, back, there, back]
    ]
    assert [entry.model for entry in world.entries() if isinstance(entry, ModelChanged)] == [back, there, back]
    world.script(WHOLE)
    world.go_on()  # without -m the last one stays
    assert world.provider.requests[-1].wire == back.partition(":")[0]


def test_the_past_is_stable_through_turns_that_stop_in_every_way(world: World) -> None:
    (world.folder / "a.txt").write_text("x\n")
    read = Call("read", {"path": "a.txt"})
    world.script(
        (Say("Odd."), Call("read", "no JSON"), Call("nothing", {}), read), (Think("Well."), Say("Done."), read)
    )
    world.script((Say("Done."),), (Say("Half"), Hold("one")))
    world.ask("first")
    agent = world.start("-c", "-p", "second")
    world.provider.wait_for("one")
    agent.send(signal.SIGINT)
    agent.wait()
    world.script((Fail(400),), (read, bash("touch made")), (Think("Hm."), Say("More."), read, bash("sleep 300")))
    world.run("-c", "-p", "third")
    assert world.run("-c", "-p", "fourth", "--on-approval", "stop").code == 3
    agent = world.start("-c", "-p", "fifth", "--yolo", "--output-format", "stream-json")
    eventually(lambda: [line for line in agent.so_far.of("tool_start") if line["effect"] == "execute"])
    agent.kill()
    world.script((bash("true"),), WHOLE)
    world.go_on()
    world.script(WHOLE)
    world.go_on()
    sizes = [len(blocks(request)) for request in world.provider.requests]
    assert all(earlier < later for earlier, later in pairwise(sizes))
    assert [text for text in world.user_texts if not text.startswith("[Note")] == [
        *("first", "second", "third", "fourth", "fifth", "go on", "go on")
    ]
    assert Block("assistant", "text", "More.") in world.last
    # What was sent stayed as it was sent: `World.verify`.
