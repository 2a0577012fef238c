"""The edges of the screen: before it is there, while its size changes, very small, put aside, and no screen at all."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from launching import World
from shells import assert_shell_works, leave, shell, start, suspend
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.session.journal.entries import PromptAccepted, TurnEnded
from holdfast.testing.script import Hold, Say
from polling import HANGS, eventually

SLOW = """\
import sys, time, pathlib
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "httpx2":
            while not pathlib.Path({gate!r}).exists():
                time.sleep(0.01)
        return None
sys.meta_path.insert(0, Slow())
"""
"""Makes the import of the HTTP client wait for a file."""


def test_what_is_typed_before_there_is_a_prompt_is_written(one_world: World) -> None:
    """The terminal keeps it until the composer is there, and Enter is Enter; what is typed behind that stays."""
    one_world.script([Say("You were quick.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.send("typed ")
        eventually(lambda: not termios.tcgetattr(terminal.descriptor)[0] & termios.ICRNL)
        terminal.send("early\nin two lines\rand more")
        terminal.wait_text("You were quick")
        terminal.wait_text("▌ and more")
    assert one_world.user_texts == ["typed early\nin two lines"]


def test_a_prompt_is_journalled_before_the_library_is_imported(one_world: World, tmp_path: Path) -> None:
    """A prompt sent at once is already safe while it waits for the import; the screen responds during the import."""
    gate = tmp_path / "gate"
    (tmp_path / "sitecustomize.py").write_text(SLOW.format(gate=str(gate)))
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    one_world.script([Say("At last.")])
    with screen(one_world, "-m", one_world.model, cold=True, PYTHONPATH=path) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("keep this")
        eventually(lambda: bool(one_world.sessions))
        eventually(lambda: any(isinstance(entry, PromptAccepted) for entry in one_world.entries()))
        terminal.send("still here")
        terminal.wait_text("▌ still here")
        gate.touch()
        terminal.wait_text("At last")


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.02])
def test_esc_right_behind_enter_stops(one_world: World, delay: float) -> None:
    """Also the first prompt of a session that is still to be made: the words are kept, nothing goes on."""
    one_world.script([Say("I begin. "), Hold("on"), Say("never")], [Say("Still here.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.send("go")
        terminal.wait_text("▌ go")
        terminal.send(Key.ENTER)
        time.sleep(delay)
        terminal.send(Key.ESC)
        terminal.wait_text("you stopped the turn")
        terminal.wait_absent("esc to interrupt|stopping")
        prompts = [entry.text for entry in one_world.entries() if isinstance(entry, PromptAccepted)]
        ends = [entry.cause for entry in one_world.entries() if isinstance(entry, TurnEnded)]
        assert (prompts, ends) == (["go"], ["user"])


def test_another_size_while_it_streams_and_none_to_speak_of(one_world: World) -> None:
    """Nothing is lost by a change of size, and what has no room comes back when there is some."""
    words = " ".join(f"word{number}" for number in range(300))
    one_world.script([Say("The beginning. "), Hold("on"), Say(words, chunk=40, delay=0.005), Say("\n\nThe end.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("The beginning")
        one_world.provider.release("on")
        for columns, lines in ((60, 20), (20, 5), (5, 2), (1, 1), (200, 60), (80, 24)):
            terminal.resize(columns, lines)
            terminal.settle()
        terminal.wait_text("The end")
        terminal.wait_absent("esc to interrupt")
        terminal.send("typed after")
        terminal.wait_text("▌ typed after")
        assert all(len(line) <= 80 for line in terminal.text().splitlines())


def test_twenty_columns_are_enough_to_ask_and_to_read(one_world: World) -> None:
    one_world.script([Say("A short answer.")])
    with screen(one_world, "-m", one_world.model, columns=20, lines=5) as terminal:
        terminal.wait_text("▌")
        terminal.send("hi\r")
        terminal.wait_text("A short answer")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_put_aside_and_taken_up_again(one_world: World) -> None:
    """Ctrl+Z gives the terminal back to the shell that started it, and `fg` brings the screen back."""
    one_world.script([Say("Here again.")])
    with shell(one_world) as terminal:
        start(terminal, one_world)
        terminal.send("half a thought")
        terminal.wait_text("half a thought")
        suspend(terminal)
        assert_shell_works(terminal)
        terminal.send("printf '\\033c'\r")  # what is seen then is drawn by a screen that has the terminal again
        terminal.wait_absent("half a thought")
        terminal.send("fg\r")
        terminal.wait_text("▌ half a thought")
        terminal.line(" and its end")
        terminal.wait_text("Here again")
        terminal.wait_absent("esc to interrupt")
        leave(terminal)
    assert one_world.user_texts == ["half a thought and its end"]


FAULTY = """\
import os, runpy
from holdfast.agent.events import LiveText
from holdfast.ui.view.view import View
key, take = os.environ["OPENAI_API_KEY"], View.take  # before it is taken out
def faulty(self, event, **more):
    if isinstance(event, LiveText):
        raise RuntimeError("a fault of ours, " + key)
    return take(self, event, **more)
View.take = faulty
runpy.run_module("holdfast", run_name="__main__")
"""
"""holdfast with a fault in what shows the model's words."""


def test_a_fault_in_what_is_shown_ends_the_screen_in_good_order(one_world: World, tmp_path: Path) -> None:
    """The error is shown, with what a report needs and no key; the turn is stopped, and the session can be resumed."""
    (tmp_path / "faulty.py").write_text(FAULTY)
    one_world.script([Say("Nobody reads this."), Hold("on")], [Say("Here again.")])
    argv = [sys.executable, str(tmp_path / "faulty.py"), "-m", one_world.model]
    key = one_world.environ()["OPENAI_API_KEY"]
    with Terminal(argv, env=one_world.environ(), cwd=one_world.folder) as terminal:
        before = terminal.settings
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        assert terminal.wait() == 1
        eventually(lambda: termios.tcgetattr(terminal.descriptor) == before)
        log = one_world.home / "faults.log"

        def after() -> bytes:
            return bytes(terminal.raw).rpartition(b"\x1b[?1049l")[2]

        eventually(lambda: str(log).encode() in re.sub(rb"\s", b"", after()))
        assert b"Internal error" in after()
        assert b"a fault of ours, [hidden]" in after()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "a fault of ours, [hidden]" in log.read_text()
    assert key not in log.read_text()
    assert [entry.cause for entry in one_world.entries() if isinstance(entry, TurnEnded)] == ["user"]
    with screen(one_world, "-c") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("and now")
        terminal.wait_text("Here again")


def test_without_colours(one_world: World) -> None:
    """NO_COLOR is heard: what is drawn has weight and reversal, no colours."""
    one_world.script([Say("# Plain\n\n`code`")])
    with screen(one_world, "-m", one_world.model, NO_COLOR="1") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("go")
        terminal.wait_text("Plain")
        terminal.wait_absent("esc to interrupt")
        colours = {
            (cell.fg, cell.bg) for row in terminal.screen.buffer.values() for cell in row.values() if cell.data.strip()
        }
        assert all(_grey(fg) and _grey(bg) for fg, bg in colours), colours


def _grey(colour: str) -> bool:
    return len(colour) != 6 or colour[:2] == colour[2:4] == colour[4:]


EDITOR = """\
import pathlib, signal, sys, time
got = []
signal.signal(signal.SIGINT, lambda *_: got.append(1))
print("the editor is here", flush=True)
while not got:
    time.sleep(0.01)
pathlib.Path(sys.argv[1]).write_text("written in spite of it")
"""
"""An editor for which Ctrl+C is one of its keys."""


def test_ctrl_c_in_the_editor_is_the_editors(one_world: World, tmp_path: Path) -> None:
    """What was written comes back, and the screen is there."""
    (tmp_path / "editor.py").write_text(EDITOR)
    one_world.script([Say("I read it.")])
    with screen(one_world, "-m", one_world.model, EDITOR=f"{sys.executable} {tmp_path / 'editor.py'}") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.send("half a thought")
        terminal.wait_text("half a thought")
        terminal.send(b"\x07")
        terminal.wait_text("the editor is here")
        terminal.send(Key.CTRL_C)
        terminal.wait_text("written in spite of it")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"I read it\.")


def test_a_terminal_without_utf_8_shows_why_signs_are_missing(one_world: World) -> None:
    model = one_world.model
    with screen(one_world, "-m", model, cold=True, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.wait_text(r"not UTF-8.* LANG=C\.UTF-8")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0


def test_without_a_terminal_the_error_names_an_option_that_works(one_world: World) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "holdfast"],
        env=one_world.environ(),
        cwd=one_world.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS,
    )
    assert ran.returncode == 2
    assert "-p" in ran.stderr
    assert "Traceback" not in ran.stderr
