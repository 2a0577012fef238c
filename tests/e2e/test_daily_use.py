"""What the user does every day at the full screen, in a real terminal: keys, commands, and where the screen goes."""

from __future__ import annotations

import base64
import os
import stat

from launching import World
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.testing.script import Hold, Say
from shown_images import png

PROMPT = "Ask holdfast to do something"
LINES = "\n\n".join(f"line {number}." for number in range(60))


def leave(terminal: Terminal) -> None:
    """Quit, once nothing runs."""
    terminal.wait_absent("esc to interrupt")
    terminal.send(Key.CTRL_D)
    assert terminal.wait() == 0


def test_an_alias_runs_at_the_first_enter(one_world: World) -> None:
    """The list shows its other names, in columns, and that there is more than it shows."""
    with screen(one_world, "-m", one_world.model, columns=80) as terminal:
        terminal.wait_text(PROMPT)
        terminal.send("/")
        terminal.wait_text(r"1 of \d+ · ↑ ↓ for more")
        rows = terminal.settle().splitlines()
        described = [next(row for row in rows if name in row) for name in ("/new, /clear ", "/resume, /sessions ")]
        assert described[0].index("start a new") == described[1].index("resume another")
        terminal.send("clear")
        terminal.wait_text("/clear, /new")
        terminal.send(Key.ENTER)
        terminal.wait_text("The next prompt starts a new session")
        terminal.line("/exit")
        assert terminal.wait() == 0


def test_sending_and_end_go_to_the_end(one_world: World) -> None:
    """After scrolling up, the next prompt, Ctrl+End, and End at the end of a line show the end again."""
    one_world.script([Say(LINES)], [Say("And a second answer.")])
    with screen(one_world, "-m", one_world.model, columns=80, lines=24) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("write")
        terminal.wait_text(r"line 59\.")
        terminal.wait_absent("esc to interrupt")
        for key in (Key.END, Key.CTRL_END):
            terminal.send(Key.PAGE_UP)
            terminal.wait_text("more below")
            terminal.send(key)
            terminal.wait_text(r"line 59\.")
        terminal.send(Key.PAGE_UP)
        terminal.wait_text("more below · Ctrl\\+End")
        terminal.line("again")
        terminal.wait_text("And a second answer")
        leave(terminal)


def test_a_prompt_on_the_command_line_is_sent(one_world: World) -> None:
    """In a new session, in one that goes on, and written back where it could not be sent."""
    one_world.script([Say("Begun.")], [Say("And on.")])
    with screen(one_world, "fix the tests", "-m", one_world.model) as terminal:
        terminal.wait_text("fix the tests")
        terminal.wait_text("Begun")
        leave(terminal)
    with screen(one_world, "-c", "and", "now", "the docs") as terminal:
        terminal.wait_text("And on")
        leave(terminal)
    assert one_world.user_texts == ["fix the tests", "and now the docs"]
    with screen(one_world, "no model yet") as terminal:
        terminal.wait_text("Set up a provider")
        terminal.send(Key.ESC)
        terminal.wait_text("▌ no model yet")


def after(terminal: Terminal) -> str:
    """Return what was written to the terminal after the screen was gone."""
    terminal.settle()
    return terminal.raw.decode().rpartition("\x1b[?1049l")[2].replace("\r", "")


def test_what_stays_in_the_terminal(one_world: World) -> None:
    """The last answer, cut to a screen, the title, and how to go on; of an empty session nothing."""
    one_world.script([Say("It was\n\nthe *lock*.")], [Say(LINES)])
    with screen(one_world, "why does it hang?", "-m", one_world.model) as terminal:
        terminal.wait_text("the lock")
        leave(terminal)
        left = after(terminal)
    assert "It was\n\nthe *lock*.\n\nwhy does it hang?" in left
    assert f"\nholdfast -r {one_world.session.name}\n" in left
    with screen(one_world, "-c", "write", columns=80, lines=24) as terminal:
        terminal.wait_text(r"line 59\.")
        leave(terminal)
        left = after(terminal)
    assert "line 0." in left
    assert "more lines\n" in left
    assert left.count("\n") < 24
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        leave(terminal)
        assert "holdfast" not in after(terminal)


def test_the_question_behind_a_long_paste_is_seen(one_world: World) -> None:
    """It is a mark in the composer and in the transcript, whole for the model; a resumed session shows the ends."""
    one_world.script([Say("I see.")])
    text = "\n".join(f"row {number}" for number in range(10_000))
    with screen(one_world, "-m", one_world.model, columns=80, lines=24) as terminal:
        terminal.wait_text(PROMPT)
        terminal.paste(text)
        terminal.send(" explain this")
        terminal.wait_text(r"▌ \[Pasted text #1 \+10000 lines\] explain this")
        terminal.send(Key.ENTER)
        terminal.wait_text("I see")
        assert "[Pasted text #1 +10000 lines] explain this" in terminal.text()
        assert "row 0" not in terminal.text()
        terminal.send(Key.CTRL_O)
        terminal.wait_text("row 9999 explain this|row 199")
        leave(terminal)
    assert one_world.user_texts == [f"{text} explain this"]
    with screen(one_world, "-c", columns=80, lines=24) as terminal:
        terminal.wait_text("9,994 more lines")
        terminal.wait_text("row 9999 explain this")


def test_a_dragged_image_and_one_of_the_clipboard_are_attached(one_world: World) -> None:
    """A path as a terminal writes it, typed or pasted; Ctrl+V is a mark, and says what to install where it must."""
    one_world.script([Say("First.")], [Say("Second.")], [Say("Third.")])
    folder = one_world.folder.parent / "shots of mine"
    folder.mkdir()
    (folder / "a.png").write_bytes(png(40, 30))
    (folder / "typed.png").write_bytes(png(41, 30))
    (folder / "clip.png").write_bytes(png(42, 30))
    programs = one_world.folder.parent / "bin"
    programs.mkdir()
    path = f"{programs}:{os.environ['PATH']}"
    with screen(one_world, "-m", one_world.model, columns=200, DISPLAY=":7", PATH=path) as terminal:
        terminal.wait_text(PROMPT)
        terminal.send(Key.CTRL_V)
        terminal.wait_text("Install xclip")
        xclip = programs / "xclip"
        xclip.write_text(f"#!/bin/sh\ncat '{folder}/clip.png'\n")
        xclip.chmod(0o755)
        terminal.paste(str(folder / "a.png").replace(" ", "\\ "))
        terminal.wait_text('@".*a.png"')
        terminal.line("describe")
        terminal.wait_text("First")
        terminal.wait_absent("esc to interrupt")
        terminal.line(f"'{folder}/typed.png' and this")
        terminal.wait_text("Second")
        terminal.wait_absent("esc to interrupt")
        terminal.send("look: ")
        terminal.send(Key.CTRL_V)
        terminal.wait_text(r"look: \[Image #1\]")
        terminal.send(Key.ENTER)
        terminal.wait_text("Third")
        assert "[Image #1]" in terminal.text()
        leave(terminal)
    bodies = [request.raw.decode() for request in one_world.provider.requests]
    for body, width in zip(bodies, (40, 41, 42), strict=True):
        assert base64.b64encode(png(width, 30)).decode() in body
    images = list(one_world.folder.parent.glob("**/pasted/*.png"))
    assert [stat.S_IMODE(each.stat().st_mode) for each in images] == [0o600]


def test_prompts_of_earlier_sessions_are_recalled_and_searched(one_world: World) -> None:
    """Of this folder only, without the commands that the user ran."""
    one_world.script([Say("Yes.")], [Say("Again.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("! echo secret words")
        terminal.wait_text("secret words")
        terminal.wait_absent("esc to interrupt")
        terminal.line("is the sky blue")
        terminal.wait_text(r"Yes\.")
        leave(terminal)
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        terminal.settle()
        terminal.send(Key.CTRL_R)
        terminal.wait_text("Prompt history")
        terminal.send("sky")
        terminal.settle()
        assert "secret" not in terminal.text()
        terminal.send(Key.ENTER)
        terminal.wait_text("▌ is the sky blue")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"Again\.")
        leave(terminal)
    assert [b"is the sky blue" in request.raw for request in one_world.provider.requests] == [True, True]
    (history_file,) = one_world.folder.parent.glob("**/prompts.jsonl")
    assert stat.S_IMODE(history_file.stat().st_mode) == 0o600
    assert "secret" not in history_file.read_text()


def test_what_waits_is_listed_and_what_is_folded_names_its_key(one_world: World) -> None:
    """Queued messages stand above the composer until they are sent; the first turn says that it starts."""
    one_world.script([Hold("on"), Say("Begun.")], [Say("Both.")])
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        terminal.line("! seq 30")
        terminal.wait_text(r"… 25 more lines · ctrl\+o")
        terminal.wait_absent("esc to interrupt")
        terminal.line("go")
        terminal.wait_text("starting|waiting for")
        terminal.wait_text("waiting for")
        terminal.line("first of all")
        terminal.wait_text("↳ first of all")
        terminal.line("and then")
        terminal.wait_text("↳ and then")
        one_world.provider.release("on")
        terminal.wait_absent("↳")
        terminal.wait_text("Both")
        leave(terminal)


def test_the_mouse_is_left_to_the_terminal(one_world: World) -> None:
    """By a command at once, and by a setting from the start."""
    takes, leaves = b"\x1b[?1000h", b"\x1b[?1000l"
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        assert takes in terminal.raw
        assert leaves not in terminal.raw
        terminal.line("/mouse off")
        terminal.wait_text("The terminal has the mouse")
        terminal.wait_for(lambda: leaves in terminal.raw, "the end of mouse reports")
        before = terminal.raw.count(takes)
        terminal.line("/mouse on")
        terminal.wait_for(lambda: terminal.raw.count(takes) > before, "mouse reports")
        terminal.line("/mouse")
        terminal.wait_text("Usage: /mouse on")
    config = next(one_world.folder.parent.glob("**/config.toml"))
    config.write_text(f"mouse = false\n{config.read_text()}")
    with screen(one_world, "-m", one_world.model) as terminal:
        terminal.wait_text(PROMPT)
        assert takes not in terminal.raw
