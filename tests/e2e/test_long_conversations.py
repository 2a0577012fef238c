"""A conversation that its model cannot read any more: shortened by real processes, killed while at it, gone on with."""

from __future__ import annotations

from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import Compacted, Uncompacted
from holdfast.testing.script import Call, Fail, Hold, Say

TOO_LONG = "This model's maximum context length is 8192 tokens. prompt is too long: 9000 tokens > 8192 maximum"


def long_turns(world: World, count: int) -> None:
    """Run so many turns, each of which reads a long file."""
    (world.folder / "long.txt").write_text("a line of a long file\n" * 400)
    for turn in range(count):
        world.script((Call("read", {"path": "long.txt"}),), (Say(f"answer {turn}"),))
        ran = world.go_on() if turn else world.ask("read it")
        assert ran.code == 0, ran.err


def test_it_is_compacted_and_the_turn_goes_on(world: World) -> None:
    world.one_past = False
    long_turns(world, 4)
    world.script((Fail(400, TOO_LONG),), (Fail(503),), (Say("Four times the same file."),), (Say("All is well."),))
    ran = world.go_on("--output-format", "stream-json")
    (line,) = ran.of("compacted")
    assert (line["cause"], line["before"] > line["after"]) == ("overflow", True)
    assert "Four times the same file." in line["content"]
    assert [error["fault"] for error in ran.of("error")] == ["too_long"]
    assert any("503" in event["message"] for event in ran.of("compacting"))
    assert ran.of("result")[0]["result"] == "All is well."
    world.verify()


def test_killed_during_a_compaction_it_is_unchanged_and_the_next_prompt_works(world: World) -> None:
    world.one_past = False
    long_turns(world, 4)
    world.script((Fail(400, TOO_LONG),), (Hold("here"),))
    agent = world.start("-c", "-p", "and now?", "--yolo")
    world.provider.wait_for("here")
    agent.kill()
    assert not [entry for entry in world.entries() if isinstance(entry, Compacted)]
    world.script((Fail(400, TOO_LONG),), (Say("Four times the same file."),), (Say("All is well."),))
    ran = world.go_on()
    assert ran.out.strip() == "All is well."
    assert "Compacted: " in ran.err
    assert [entry.why for entry in world.entries() if isinstance(entry, Compacted)] == ["overflow"]
    world.verify()


def test_in_the_terminal_a_compaction_is_started_stopped_done_and_undone(one_world: World) -> None:
    one_world.one_past = False
    long_turns(one_world, 4)
    one_world.script((Hold("never"),), (Say("The engine was read, four times."),), (Say("All is well."),))
    with screen(one_world, "-c") as terminal:
        terminal.wait_text("answer 3")
        terminal.line("/compact the engine")
        one_world.provider.wait_for("never")
        terminal.wait_text("compacting")
        terminal.send(Key.ESC)
        terminal.wait_text("Nothing was compacted")
        terminal.wait_absent("esc to interrupt|stopping|compacting ")
        assert not [entry for entry in one_world.entries() if isinstance(entry, Compacted)]
        terminal.line("/compact the engine")
        terminal.wait_text("Compacted: ")
        terminal.wait_text(r"─ <?\d %")
        terminal.line("and now?")
        terminal.wait_text("All is well")
        assert "The engine was read" in one_world.user_texts[0]
        terminal.line("/uncompact")
        terminal.wait_text("are sent to the model again")
        terminal.wait_text(r"━─+ 1?\d %")
        shown = terminal.settle()
    decided = [entry for entry in one_world.entries() if isinstance(entry, Compacted | Uncompacted)]
    assert [type(entry) for entry in decided] == [Compacted, Uncompacted], shown
