"""A handful of screens as text, as a real terminal shows them: HOLDFAST_WRITE_SCREENS=1 writes them again, for review.

What no two runs have in common (times, tokens, the end of a scroll bar) is not compared.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import pytest
from launching import World
from terminal import Key, Terminal
from test_terminal import screen

from holdfast.testing.script import Call, Say, Think
from polling import eventually
from skips import needs
from tiers import sampled

PATIENCE = 20.0
"""Seconds that a screen has to become what is expected, where it is not yet."""

SCREENS = Path(__file__).with_name("screens")
WRITE = bool(os.environ.get("HOLDFAST_WRITE_SCREENS"))

ANSWER = """\
I looked at the parser. Two things stand out.

## What happens

The `read_line` function of **lexer.py** stops at the first `\\n`, so a *quoted* newline ends the token; see \
[the issue](https://example.org/1).

1. It reads a line.
2. It splits the line at commas, which is wrong for quotes.

```python
def read_line(source: str, at: int = 0) -> str:
    return source[at : source.find("\\n", at)]
```

| case | now | expected |
|---|---:|---|
| plain | 1 | 1 |
| quoted newline | error | 1 |
"""

LEXER = 'def read_line(source, at=0):\n    end = source.find("\\n", at)\n    return source[at:end]\n'

_SPENT = re.compile(r"( · )?([\d.]+k? in, [\d.]+k? out|\$[\d.]+|(context )?[━─]+ <?\d+ %|context [\d.]+k?)")


@needs("bubblewrap")  # the cards say what was confined
@pytest.mark.parametrize(("columns", "lines"), sampled([(80, 24), (120, 40), (200, 60)], 1))
def test_screens(one_world: World, columns: int, lines: int) -> None:
    """From the first screen to a session that is resumed, everything stands where it stood."""
    (one_world.folder / "lexer.py").write_text(LEXER)
    (one_world.home / "config.toml").write_text('edit_tool = "edit"\n')
    one_world.script(
        [Think("The parser it is."), Say(ANSWER)],
        [
            Call("read", {"path": "lexer.py"}),
            Call("read", {"path": "gone.py"}),
            Call("edit", {"path": "lexer.py", "old": '    end = source.find("\\n", at)\n', "new": "    end = 0\n"}),
            Call("bash", {"command": "rm -rf build"}),
            Call("bash", {"command": "mkdir made; echo begun; sleep 60"}),
        ],
    )
    home = str(one_world.folder.parent)
    differ: list[str] = []

    def look(name: str, terminal: Terminal) -> None:
        found: list[str] = []

        def same() -> bool:
            found[:] = _compared(f"{name}-{columns}x{lines}", terminal.settle().replace(home, "~"))
            return not found

        with suppress(AssertionError):
            eventually(same, 0 if WRITE else PATIENCE)
        differ.extend(found)

    with screen(one_world, columns=columns, lines=lines, HOME=home) as terminal:
        terminal.wait_text("Choose a model to start")
        look("first", terminal)
    with screen(one_world, "-m", one_world.model, columns=columns, lines=lines, HOME=home) as terminal:
        terminal.wait_text("Ask holdfast to do something")
        terminal.line("what is wrong with the parser?")
        terminal.wait_text("quoted newline +error")
        terminal.wait_absent("esc to interrupt")
        look("answer", terminal)
        terminal.line("then fix it")
        terminal.wait_text(r"Edit lexer\.py\?")
        look("question", terminal)
        terminal.send("1")
        terminal.wait_text(r"(?s)Run this command\?.*rm -rf build")
        terminal.send("n")
        terminal.wait_text("Tell the model why")
        terminal.send("I need it\r")
        terminal.wait_text(r"(?s)Run this command\?.*sleep 60")
        terminal.send("1")
        terminal.wait_text(r"\n +begun")
        terminal.send(Key.ESC)
        terminal.wait_absent("esc to interrupt")
        look("cards", terminal)
        terminal.line("/help")
        terminal.wait_text("Keys")
        look("help", terminal)
    with screen(one_world, "-c", columns=columns, lines=lines, HOME=home) as terminal:
        terminal.wait_text("begun")
        look("resumed", terminal)
    assert not differ, "\n\n".join(differ)


def _compared(name: str, text: str) -> list[str]:
    """Return what is shown if it differs from the stored screen, nothing otherwise."""
    text = re.sub(r" +[▁-█]$", "", text, flags=re.MULTILINE)  # the scroll bar, which follows when it has time
    text = re.sub(r"  \d+(\.\d+)? s(?=   )", lambda found: " " * len(found[0]), text)  # told from 1 s on
    text = re.sub(r"(  | for )\d+(\.\d+)? s$", "", text, flags=re.MULTILINE)  # likewise
    *body, status = re.sub(r"\b\d+(\.\d+)? s\b", "N s", text).split("\n")
    shown = "\n".join((*body, re.sub(r"  +", "  ", _SPENT.sub("", status)))) + "\n"
    path = SCREENS / f"{name}.txt"
    if WRITE:
        SCREENS.mkdir(exist_ok=True)
        path.write_text(shown)
    expected = path.read_text() if path.exists() else ""
    return [] if shown == expected else [f"{path.name} is now:\n{shown}"]
