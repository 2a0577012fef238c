"""Questions of MCP servers through the real program: asked on the screen, declined, killed and resumed."""

from __future__ import annotations

import json

import pytest
from launching import World
from terminal import Key
from test_mcp import configure, outcomes
from test_terminal import screen

from holdfast.session.journal.entries import CallAnswered, CallEnded, CallStarted, CallWaits, kind
from holdfast.testing.script import Call, Say
from tiers import one_of

ANN = {"action": "accept", "content": {"age": 30, "name": "ann", "seat": "window"}}
FORM = r"(?s)MCP server srv asks:.*Who travels\?.*"


def notes(world: World) -> str:
    path = world.folder / "marker.calls"
    return path.read_text() if path.exists() else ""


def kinds(world: World) -> list[str]:
    call_entries = (CallStarted, CallWaits, CallAnswered, CallEnded)
    return [kind(entry) for entry in world.entries() if isinstance(entry, call_entries)]


@pytest.mark.parametrize("era", one_of(("asking", "modern"), "declined"))
def test_without_a_user_it_is_declined(one_world: World, era: str) -> None:
    configure(one_world, era)
    one_world.script([Call("mcp__srv__book", {})], [Say("Done.")])
    assert one_world.ask("go").code == 0
    ((_, text),) = outcomes(one_world)
    expected = "declined because no user can be asked in this run: Who travels?" if era == "modern" else "not supported"
    assert expected in text
    one_world.verify()


@pytest.mark.parametrize("era", ["asking", "modern"])
def test_a_form_is_filled_in_after_a_kill(one_world: World, era: str) -> None:
    """A server of the newer era is asked on; one that waits within its call is lost with it."""
    configure(one_world, era)
    assert one_world.run("mcp", "test", "srv").code == 0
    one_world.script([Call("mcp__srv__book", {})], [Say("Done.")], [Say("On.")])
    with screen(one_world, "-m", one_world.model, "--yolo") as terminal:
        terminal.wait_text("shift")
        terminal.line("go")
        terminal.wait_text(FORM + "Your name")
        terminal.kill()
        terminal.wait()
    assert kinds(one_world) == ["call-started", "call-waits"]
    with screen(one_world, "-c") as terminal:
        if era == "asking":
            terminal.wait_text("Turn interrupted")
            terminal.settle()
            terminal.line("on")
            terminal.wait_text(r"On\.|Done\.")
        else:
            terminal.wait_text(FORM + "Your name")
            terminal.send("1")
            terminal.wait_text("Your answer, then Enter")
            terminal.line("ann")
            terminal.wait_text(r"(?s)seat.*1  aisle.*2  window.*3  Decline")
            terminal.send("2")
            terminal.wait_text(r"(?s)age.*1  Leave this empty.*2  Answer in your own words.*3  Decline")
            terminal.send("2")
            terminal.wait_text("Your answer, then Enter")
            terminal.line("7")
            terminal.wait_text("Not taken: It must be 18 or more")
            terminal.send("2")
            terminal.wait_text("Your answer, then Enter")
            terminal.line("30")
            terminal.wait_text(r"Done\.")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    ((outcome, text),) = outcomes(one_world)
    if era == "asking":
        assert outcome == "interrupted"
        assert "while MCP server 'srv' waited for an answer of the user" in text
    else:
        assert (outcome, json.loads(text)) == ("ok", ANN)
        assert notes(one_world).split("\n")[:-1] == ["asked book", "did book"]
        assert kinds(one_world) == ["call-started", "call-waits", "call-answered", "call-ended"]
    one_world.verify()
