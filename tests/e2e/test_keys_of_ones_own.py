"""vim's keys and keys of the user's choice, in a real terminal."""

from __future__ import annotations

import pytest
from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.session.journal.entries import Queued, TurnEnded
from holdfast.testing.script import Hold, Say

PROMPT = "Ask holdfast to do something"
CTRL_S = b"\x13"


def test_the_prompt_is_edited_with_vims_keys(one_world: World) -> None:
    """Esc leaves insert mode and stops nothing; in normal mode it stops the turn."""
    one_world.script([Say("Begun."), Hold("late")], [Say("Done.")])
    path = one_world.home / "config.toml"
    path.write_text(f'{path.read_text()}[ui]\nkeys = "vim"\n')
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        terminal.wait_text(r"INSERT +ask")
        terminal.send("one three")
        terminal.wait_text("one three")
        terminal.send(Key.ESC)
        terminal.wait_text(r"NORMAL +ask")
        terminal.send("0wi")
        terminal.wait_text(r"INSERT +ask")
        terminal.send("two ")
        terminal.wait_text("one two three")
        terminal.send(Key.ESC)
        terminal.wait_text(r"NORMAL +ask")
        terminal.send("2d")
        terminal.wait_text(r"NORMAL 2d")
        terminal.send("b")
        terminal.wait_absent("one two")
        terminal.send("u")
        terminal.wait_text("one two three")
        terminal.send("\r")
        terminal.wait_text("Begun")
        terminal.wait_text("INSERT")
        terminal.send("more")
        terminal.wait_text("▌ more")
        terminal.send(Key.ESC)
        terminal.wait_text("NORMAL")
        assert "esc to interrupt" in terminal.text()
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt")
        terminal.send("dd")
        terminal.wait_text(PROMPT)
        terminal.send("i")
        terminal.wait_text("INSERT")
        terminal.line("/vim off")
        terminal.wait_text("The prompt is edited as usual. To keep it: /vim off user.")
        terminal.wait_absent("INSERT")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert one_world.user_texts[0] == "one two three"


def test_text_is_selected_with_vims_keys(one_world: World) -> None:
    one_world.script([Say("Understood.")])
    path = one_world.home / "config.toml"
    path.write_text(f'{path.read_text()}[ui]\nkeys = "vim"\n')
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(r"INSERT +ask")
        terminal.send("one two three")
        terminal.wait_text("one two three")
        terminal.send(Key.ESC)
        terminal.wait_text(r"NORMAL +ask")
        terminal.send("0ve")
        terminal.wait_text(r"VISUAL +ask")
        terminal.send("y")
        terminal.wait_text(r"NORMAL +ask")
        terminal.send("wviwp")
        terminal.wait_text("▌ one one three")
        terminal.send("u")
        terminal.wait_text("▌ one two three")
        terminal.send("onext")
        terminal.wait_text(r"▌ next\s+INSERT +ask")
        terminal.send(Key.ESC)
        terminal.wait_text(r"NORMAL +ask")
        terminal.send("kVj")
        terminal.wait_text(r"VISUAL LINE +ask")
        drawn = {cell.bg for row in terminal.screen.buffer.values() for cell in row.values() if cell.data in "wx"}
        assert len(drawn) > 1, "what is selected has a background of its own"
        terminal.send("c")
        terminal.wait_text(r"INSERT +ask")
        terminal.wait_absent("one two three|▌ next")
        terminal.send(Key.ESC)
        terminal.wait_text(r"NORMAL +ask")
        terminal.send("u0v")
        terminal.wait_text(r"VISUAL +ask")
        terminal.send(Key.DOWN)
        terminal.send("d")
        terminal.wait_text("▌ ext")
        terminal.send("u0V")
        terminal.wait_text("▌ one two three")
        terminal.wait_text(r"VISUAL LINE")
        terminal.send(Key.ESC)
        terminal.wait_text(r"NORMAL +ask")
        terminal.send("Gdd")
        terminal.wait_absent("▌ next")
        terminal.send("v")
        terminal.wait_text(r"VISUAL +ask")
        terminal.send(Key.ENTER)
        terminal.wait_text("Understood")
        terminal.wait_text("INSERT")
    assert one_world.user_texts[0] == "one two three"


def test_actions_have_the_keys_of_the_config(one_world: World) -> None:
    """What cannot be is said at the start; /keys and /help show the true keys."""
    path = one_world.home / "config.toml"
    path.write_text(f'{path.read_text()}[keys]\nexpand = "f5"\nhistory = "ctrl+g"\ninterrupt = []\nhistori = "f6"\n')
    with screen(one_world, "-m", one_world.model, columns=110, lines=40) as terminal:
        terminal.wait_text(PROMPT)
        terminal.wait_text("interrupt: it needs a key")
        terminal.wait_text("unknown action 'histori'. Did you mean history")
        terminal.wait_text("ctrl\\+g was the key of editor")
        terminal.line("/keys")
        terminal.wait_text(r"expand +F5 ")
        terminal.wait_text(r"editor +none ")
        terminal.send(Key.ESC)
        terminal.wait_absent("expand +F5")
        terminal.line("/help")
        terminal.wait_text(r"F5 +expand / collapse all output")
        terminal.send(Key.ESC)
        terminal.wait_absent("collapse all output")
        terminal.send(b"\x07")
        terminal.wait_text("Prompt history")
        terminal.send(Key.ESC)
        terminal.wait_absent("Prompt history")
        terminal.line("/config keys.history escape user")
        terminal.wait_text("escape is the only key of interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_another_key_sends_and_enter_begins_a_line(one_world: World) -> None:
    """It steers too, keeps its order with Esc, and Enter still accepts a completion."""
    one_world.script([Say("Begun. "), Hold("late"), Say("Ended.")], [Say("Steered.")], [Say("Again. "), Hold("never")])
    path = one_world.home / "config.toml"
    path.write_text(f'{path.read_text()}[keys]\nsend = "ctrl+s"\n')
    (one_world.folder / "a-file.txt").write_text("one\n")
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        terminal.send("one\rtwo")
        terminal.wait_text(r"▌ one\s+▌ two")
        terminal.send(CTRL_S)
        terminal.wait_text("Begun")
        terminal.wait_text(r"Ctrl\+S to steer")
        terminal.send("three\r@a-f")
        terminal.wait_text(r"a-file\.txt")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"▌ three\s+▌ @a-file\.txt")
        terminal.send(CTRL_S)
        one_world.provider.release("late")
        terminal.wait_text("Steered")
        terminal.wait_absent("esc to interrupt")
        terminal.send("/keys" + CTRL_S.decode())
        terminal.wait_text(r"send +Ctrl\+S")
        terminal.send(Key.ESC)
        terminal.wait_absent(r"send +Ctrl\+S")
        terminal.send(b"four" + CTRL_S + Key.ESC)  # the stop does not overtake the prompt
        terminal.wait_text("you stopped the turn")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert one_world.user_texts[:2] == ["one\ntwo", "three\n@a-file.txt "]


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ('send = "ctrl+d"\nquit-if-empty = []', Key.CTRL_D),
        ('send = "alt+s"', b"\x1bs"),
        ('send = "alt+enter"\nqueue = []', Key.ALT_ENTER),
        ('send = "shift+ctrl+x"', b"\x1b[120;6u"),
    ],
)
def test_keys_that_can_send(one_world: World, config: str, key: bytes) -> None:
    """An action without keys leaves its own to others; Alt and Ctrl are keys in every terminal that can send them."""
    one_world.script([Say("Begun.")])
    path = one_world.home / "config.toml"
    path.write_text(f"{path.read_text()}[keys]\n{config}\n")
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        terminal.send("hello")
        terminal.wait_text("▌ hello")
        terminal.send(key)
        terminal.wait_text("Begun")
        terminal.wait_absent("esc to interrupt")
        terminal.send(b"\x11")
        assert terminal.wait() == 0
    assert one_world.user_texts == ["hello"]


def test_alt_enter_queues_in_a_terminal_of_the_old_kind(one_world: World) -> None:
    """It comes as ESC and a line end, which is neither a stop nor an Enter."""
    one_world.script([Say("Begun. "), Hold("on"), Say("Ended.")], [Say("Second.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("first")
        terminal.wait_text("Begun")
        terminal.send("later")
        terminal.wait_text("▌ later")
        terminal.send(Key.ALT_ENTER)
        terminal.wait_text("1 queued")
        one_world.provider.release("on")
        terminal.wait_text("Second")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert [entry.when for entry in one_world.entries() if isinstance(entry, Queued)] == ["later"]
    ended = [entry for entry in one_world.entries() if isinstance(entry, TurnEnded)]
    assert [entry.cause for entry in ended] == ["finished", "finished"]
