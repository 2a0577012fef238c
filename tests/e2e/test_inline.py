"""The inline screen: finished text goes to the terminal's history, once and in order, whatever else happens."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from history_screen import HistoryTerminal
from launching import World
from shells import assert_shell_works, leave_shell, shell, start, suspend
from terminal import Key, Terminal

from holdfast.testing.script import Call, Hold, Say
from process_leaks import linux_only

pytestmark = linux_only

PROMPT = "Ask holdfast to do something"


class InlineTerminal(Terminal):
    """A terminal with history, in which the program runs below what a shell has printed before."""

    screen: HistoryTerminal

    def __init__(self, world: World, *arguments: str, columns: int = 80, lines: int = 24, **more: str) -> None:
        emulated = HistoryTerminal(columns, lines)
        super().__init__(
            ("--inline", *arguments),
            env=world.environ(**more),
            cwd=world.folder,
            columns=columns,
            lines=lines,
            warm=True,
            screen=emulated,
        )

    def rows(self) -> list[str]:
        """Return all rows, with those of the history."""
        with self._lock:
            return self.screen.rows()

    def lowest(self) -> str:
        """Return the lowest row that is not empty: a region that was higher leaves empty rows below."""
        return next((row for row in reversed(self.rows()) if row), "")

    def count(self, pattern: str) -> int:
        """Return how often something is in the history and on the screen."""
        return len(re.findall(pattern, "\n".join(self.rows())))


def numbered(count: int, word: str = "line") -> str:
    """Return so many lines as a list in Markdown, each with its own number."""
    return "\n".join(f"- {word}-{number:04}." for number in range(count))


def in_order(rows: Sequence[str], words: Sequence[str]) -> None:
    """Fail unless each of the words stands in the terminal once, one below the other."""
    text = "\n".join(rows)
    places = [[found.start() for found in re.finditer(re.escape(word), text)] for word in words]
    wrong = [(word, len(at)) for word, at in zip(words, places, strict=True) if len(at) != 1]
    assert not wrong, f"{wrong[:5]}\n{text[-6000:]}"
    assert [at[0] for at in places] == sorted(at[0] for at in places)


def test_a_session(one_world: World) -> None:
    """Answers higher than the terminal, a question, a page, new sizes, a stop: all of it is there once, in order."""
    world = one_world
    world.script(
        [Say(f"First answer.\n\n{numbered(60)}")],
        [Call("bash", {"command": "echo made > made.txt"})],
        [Say("Second answer.")],
        [Say("Third, which is "), Hold("stream"), Say("never said")],
        [Say(f"Fourth answer.\n\n{numbered(30, 'row')}")],
    )
    with InlineTerminal(world, "-m", world.model) as terminal:
        terminal.wait_text(PROMPT)
        assert terminal.text().count("\n") < 12  # no higher than what it shows
        terminal.line("one please")
        terminal.wait_text("line-0059")
        terminal.wait_absent("esc to interrupt")
        terminal.line("two please")
        terminal.wait_text("Allow once")
        assert not terminal.screen.alternate
        terminal.send("1")
        terminal.wait_text("Second answer")
        terminal.wait_absent("esc to interrupt")
        terminal.send(b"\x0f")
        terminal.wait_for(lambda: terminal.screen.alternate, "a page")
        terminal.wait_text("Ctrl.O folds")
        terminal.send(Key.ESC)
        terminal.wait_for(lambda: not terminal.screen.alternate, "the main screen")
        terminal.line("three please")
        terminal.wait_text("Third, which")
        terminal.resize(60, 20)
        terminal.wait_for(
            lambda: (
                re.fullmatch(r" ask . writing .*esc to interrupt .+", lowest := terminal.lowest()) is not None
                and 50 < len(lowest) < 60
            ),
            "the status at the new size, as the lowest row",
        )
        terminal.send(Key.ESC)
        terminal.wait_text("Interrupted|interrupted|stopped")
        terminal.wait_absent("esc to interrupt")
        terminal.resize(90, 30)
        terminal.line("four please")
        terminal.wait_text("row-0029")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_C)
        terminal.wait_text("again to quit")
        terminal.send(Key.CTRL_C)
        assert terminal.wait() == 0
        rows = terminal.rows()
    rows = [row for row in rows if row != "one please"]  # the title
    expected = ["▌ one please", "First answer.", *(f"line-{number:04}." for number in range(60))]
    expected += ["two please", "echo made > made.txt", "Second answer.", "three please", "Third, which is"]
    expected += ["four please", "Fourth answer.", *(f"row-{number:04}." for number in range(30)), "holdfast -r"]
    in_order(rows, expected)
    assert not [row for row in rows if PROMPT in row or "shift+tab" in row]  # nothing of the live region is left


def test_put_aside_and_taken_up_again(one_world: World) -> None:
    """Ctrl+Z leaves to the shell what was printed; `fg` begins a region below it; a resumed session is printed."""
    world = one_world
    world.script([Say("First answer.")], [Say("Second answer.")])
    emulated = HistoryTerminal(90, 24)
    with shell(world, columns=90, lines=24, screen=emulated) as terminal:
        start(terminal, world, "--inline", shows=PROMPT)
        terminal.line("one please")
        terminal.wait_text("First answer")
        terminal.wait_absent("esc to interrupt")
        terminal.send("half a thought")
        terminal.wait_text("half a thought")
        suspend(terminal)
        terminal.wait_absent("half a thought")
        assert_shell_works(terminal)
        terminal.send("fg\r")
        terminal.wait_text("▌ half a thought")
        terminal.send(Key.ENTER)
        terminal.wait_text("Second answer")
        terminal.wait_absent("esc to interrupt")
        terminal.send(Key.CTRL_D)
        terminal.wait_text("(?s)holdfast -r.*shell>$")
        in_order(emulated.rows(), ["▌ one please", "First answer.", "Stopped", "▌ half a thought", "Second answer."])
        terminal.send(f"{sys.executable} -m holdfast --inline -c\r")
        terminal.wait_text(PROMPT)
        terminal.wait_for(lambda: sum("First answer." in row for row in emulated.rows()) == 2, "the resumed session")
        terminal.send(Key.CTRL_D)
        ends = re.compile(r"(?s)holdfast -r.*holdfast -r.*shell>\s*$")  # the first may have scrolled away
        terminal.wait_for(lambda: bool(ends.search("\n".join(emulated.rows()))), "both ends and the shell")
        leave_shell(terminal)
