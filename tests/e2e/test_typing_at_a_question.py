"""Words typed while an approval prompt is open are words: they answer nothing, and stand in the composer in order."""

from __future__ import annotations

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import ApprovalAnswered, Steered
from holdfast.testing.script import Call, Say


@pytest.mark.parametrize("words", ["/model openai:gpt-4.1", "1. first the tests, 2. then this", "yes, but with care"])
def test_a_line_typed_at_a_question_answers_nothing(one_world: World, words: str) -> None:
    """Whatever it begins with; Tab goes back to the question, whose keys then answer."""
    one_world.script([Call("bash", {"command": "touch ran"})], [Say("Done.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("1  Allow once")
        terminal.send(words)
        terminal.wait_text(f"▌ {words}")
        terminal.settle()
        assert "1  Allow once" in terminal.text()
        assert not (one_world.folder / "ran").exists()
        terminal.send(" 1y")
        terminal.wait_text(f"{words} 1y")
        terminal.send(Key.TAB)
        terminal.settle()
        terminal.send("1")
        terminal.wait_text(r"Done\.")
        terminal.wait_absent("esc to interrupt")
        terminal.wait_text(f"▌ {words} 1y")
        terminal.send(Key.CTRL_C)
        terminal.wait_absent("1y")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert (one_world.folder / "ran").exists()


def test_a_sentence_sent_at_a_question_steers(one_world: World) -> None:
    """Its Enter is the composer's, not that of the highlighted answer."""
    one_world.script([Call("bash", {"command": "touch ran"})], [Say("Done.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("1  Allow once")
        terminal.send("mind the gap\r")
        terminal.wait_text("1 queued")
        terminal.settle()
        assert not any(isinstance(entry, ApprovalAnswered) for entry in one_world.entries())
        terminal.send(Key.TAB)
        terminal.settle()
        terminal.send("n")
        terminal.wait_text("Tell the model why")
        terminal.send("not now\r")
        terminal.wait_text(r"Done\.")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert [entry.text for entry in one_world.entries() if isinstance(entry, Steered)] == ["mind the gap"]
    assert not (one_world.folder / "ran").exists()


def test_a_paste_at_a_question_is_written(one_world: World) -> None:
    one_world.script([Call("bash", {"command": "touch ran"})], [Say("Done.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("1  Allow once")
        terminal.paste("1")
        terminal.wait_text(r"▌ 1\n")
        terminal.settle()
        assert not any(isinstance(entry, ApprovalAnswered) for entry in one_world.entries())
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_C)
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
