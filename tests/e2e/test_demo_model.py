"""The demo model on the screen: its first turn asks three times, with a diff; a refusal is respected and said."""

from __future__ import annotations

from launching import World
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.session.journal.entries import ApprovalAnswered, CallEnded


def asked(terminal: Terminal, title: str) -> None:
    terminal.wait_text(title)
    terminal.wait_text("1 *Allow once")


def test_the_first_turn_asks_to_write_to_change_and_to_run(one_world: World) -> None:
    one_world.one_past = False
    with screen(one_world, "-m", "demo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("show me")
        asked(terminal, r"holdfast-demo/hello\.sh")
        assert not (one_world.folder / "holdfast-demo").exists()
        terminal.send("1")
        asked(terminal, r"echo Hello, world")
        assert "echo Hello, wrold" in terminal.text()
        terminal.send("1")
        asked(terminal, r"sh holdfast-demo/hello\.sh")
        terminal.send("1")
        terminal.wait_text("That was real")
        terminal.wait_absent("esc to interrupt")
        terminal.line("and more")
        terminal.wait_text("step 3")
        terminal.wait_text("It only reads, so holdfast did not ask")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert (one_world.folder / "holdfast-demo" / "hello.sh").read_text().endswith("echo Hello, world\n")
    entries = one_world.entries()
    assert len([entry for entry in entries if isinstance(entry, ApprovalAnswered)]) == 3
    texts = [entry.text for entry in entries if isinstance(entry, CallEnded)]
    assert any(text.startswith("Hello, world\n") for text in texts)


def test_a_refusal_is_respected(one_world: World) -> None:
    one_world.one_past = False
    with screen(one_world, "-m", "demo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("show me")
        asked(terminal, r"holdfast-demo/hello\.sh")
        terminal.send(Key.ESC)
        terminal.wait_text("Turn ended|You said no")
        terminal.wait_absent("esc to interrupt")
        terminal.line("and more")
        terminal.wait_text("holdfast-demo/hello|step 3|You said no")
        assert "after you allowed it" not in terminal.text()
    assert not (one_world.folder / "holdfast-demo").exists()
