"""What a command prints in colours has them on the screen, in 16, 256 and all; the model and the journal read text."""

from __future__ import annotations

import pytest
from launching import World
from terminal import Terminal
from test_terminal import screen

from holdfast.session.journal.entries import CallEnded, ShellEnded
from holdfast.testing.script import Call, Say

PRINTS = r"printf '\033[31mscarlet\033[0m \033[38;5;33mazure\033[0m \033[38;2;1;200;3mmeadow\033[0m \033[2Jbare\n'"


def colours(terminal: Terminal, word: str) -> set[str]:
    """Return the colours of the letters of a word, at the last place where it stands alone."""
    for row in reversed(range(terminal.screen.lines)):
        cells = terminal.screen.buffer[row]
        text = "".join(cells[column].data for column in range(terminal.screen.columns))
        if (at := text.find(f"{word} ")) >= 0:
            return {cells[column].fg for column in range(at, at + len(word))}
    return set()


@pytest.mark.parametrize("prefix", ["!", ""], ids=["own", "of the model"])
def test_an_output_has_its_colours(one_world: World, prefix: str) -> None:
    (one_world.folder / "show.sh").write_text(PRINTS)
    one_world.script([Call("bash", {"command": "sh show.sh"})], [Say("Done.")])
    with screen(one_world, "-m", one_world.model, "--yolo") as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("!sh show.sh" if prefix else "go")
        terminal.wait_text("scarlet azure meadow bare")
        terminal.wait_text("Done" if not prefix else "bare")
        found = [colours(terminal, word) for word in ("scarlet", "azure", "meadow", "bare")]
        assert all(len(each) == 1 for each in found)
        assert len({each for group in found for each in group}) == 4
        assert found[2] == {"01c803"}
    ends = [each.text for each in one_world.entries() if isinstance(each, CallEnded | ShellEnded)]
    assert [each.splitlines()[0] for each in ends] == ["scarlet azure meadow bare"]
