"""Hostile text through a real terminal: wherever it comes from, it is seen, it does nothing, and keys are answered."""

from __future__ import annotations

import re

from launching import World
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.testing.script import Call, Say
from process_leaks import linux_only

COMMANDS = "\x1b]52;c;c3RvbGVu\x07\x1b]0;taken\x07\x1b[?1049l\x9b31m\x9d0;taken\x9c\x07"
"""Sets the clipboard and the title, leaves the alternate screen, and again as single characters of eight bits."""

MARKUP = "[@click=app.quit]press me[/] [bold]stout[/bold]"
MIRRORED = "\u202etxt.exe\u202c \u2066x\u2069 \u200fy"
EVIL = f"{MARKUP} {COMMANDS} {MIRRORED}"
WIDE = "".join(map(str, range(190_000)))
TALL = "".join(f"{number}\n" for number in range(10_000))

ANSWERED = 3.0
"""Seconds of the program's CPU time after which it must have answered a key."""

_OURS = re.compile(
    r"\x1b\]22;[a-z-]*\x07"  # the shape of the mouse pointer
    r"|\x1b\]2;(\? |● )?work · holdfast\x1b\\"  # the title
    r"|\x1b\]11;\?(\x1b\\|\x07)"  # asks for the background
)
_ACTS = re.compile("\x1b\\]|[\x07\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]|\x1b\\[\\?1049l")


def assert_harmless(terminal: Terminal) -> None:
    """Fail if anything that was written to the terminal is a command of the text's."""
    found = _ACTS.search(_OURS.sub("", terminal.raw.decode()))
    assert found is None, f"{found[0]!r} was written"


def assert_answers(terminal: Terminal) -> None:
    """Fail unless a key is seen soon, and the one that takes it away."""
    before = terminal.work
    terminal.send("~")
    terminal.wait_text("~")
    terminal.send(b"\x7f")
    terminal.wait_absent("~")
    assert terminal.work - before < ANSWERED


@linux_only
def test_nothing_that_is_shown_acts(one_world: World) -> None:
    """A prompt of an earlier run, a file's name, a question, what a command prints, an answer: all of it is text."""
    one_world.script([Say("Hm.")])
    one_world.ask(f"prompt {EVIL}")
    (one_world.folder / f"name {MARKUP[:16]} {COMMANDS} {MIRRORED}"[:60].replace("/", "")).touch()
    (one_world.folder / "evil.txt").write_text(f"printed {EVIL}\n{WIDE}\n{TALL}printed last\n")
    one_world.script(
        [
            Call("glob", {"pattern": "name*"}),
            Call("write", {"path": f"written {COMMANDS}", "content": f"content {EVIL}\n{WIDE}"}, chunk=50_000),
            Call("bash", {"command": f"cat evil.txt # {EVIL}"}),
        ],
        [Say(f"answer {EVIL}\n\n{WIDE}\n\n", chunk=50_000), Say(f"answered {MARKUP}")],
    )
    with screen(one_world, "-c", "-m", one_world.model, columns=120, lines=40) as terminal:
        terminal.wait_text(r"prompt \[@click=app\.quit\]press me\[/\] \[bold\]stout")
        terminal.send("@name")
        terminal.wait_text(r"name \[@click")
        terminal.send(Key.ESC)
        terminal.send(Key.CTRL_C)
        terminal.wait_absent("@name")
        assert_answers(terminal)

        terminal.line("go on")
        terminal.wait_text(r"content \[@click=app\.quit\]press me\[/\] \[bold\]stout")
        terminal.wait_text("Reject with feedback")
        assert_harmless(terminal)
        terminal.send("n")
        terminal.wait_text("Tell the model why")
        terminal.send(Key.ENTER)
        terminal.wait_absent("Tell the model why")
        terminal.wait_text(r"cat evil\.txt # \[@click=app\.quit\]press me\[/\] \[bold\]stout")
        terminal.wait_text("Reject with feedback")
        terminal.send("y")
        terminal.wait_text(r"answered \[@click=app\.quit\]press me\[/\] \[bold\]stout")
        terminal.wait_absent("esc to interrupt")
        assert_answers(terminal)

        rows = terminal.text().splitlines()
        row = next(number for number, text in enumerate(rows, 1) if "answered [@click" in text)
        column = rows[row - 1].index("press me") + 3
        terminal.send(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")
        assert_answers(terminal)
        terminal.send(Key.CTRL_O)  # all of what was printed
        for _ in range(5):
            terminal.send(Key.PAGE_UP)
        assert_answers(terminal)
        terminal.send("/resume ")
        terminal.wait_text("/resume")
        assert_harmless(terminal)
        terminal.send(Key.CTRL_C)
        terminal.wait_absent("/resume ")
        terminal.send(Key.CTRL_D)
        assert terminal.wait() == 0
    assert "content" not in [path.name for path in one_world.folder.iterdir()]
