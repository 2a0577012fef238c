"""Completion in zsh and in fish, set up as the quickstart says, in a real terminal; bash is tried without one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from terminal import Key, Terminal

from holdfast.agent.sessions import create
from holdfast.session.catalog import Catalog
from polling import eventually
from skips import needs

SET_UP = {
    "zsh": ("zsh -f", "source <(holdfast completion zsh)"),
    "fish": ("fish", "holdfast completion fish > ~/.config/fish/completions/holdfast.fish"),
}


PROMPT = r"[%#>$] ?$"


def emptied(terminal: Terminal) -> bool:
    """Return whether the line is empty; a Ctrl+C that ends a completion leaves it as it is."""
    terminal.send(Key.CTRL_C)
    return bool(re.search(PROMPT, terminal.settle()))


@pytest.mark.parametrize("shell", [pytest.param(each, marks=needs(each)) for each in SET_UP])
def test_a_shell_that_was_set_up_completes(shell: str, tmp_path: Path) -> None:
    start, set_up = SET_UP[shell]
    assert set_up in (Path(__file__).parents[2] / "docs/tutorial/quickstart.md").read_text("utf-8")
    program = tmp_path / "bin/holdfast"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{":".join(filter(None, sys.path))}" exec "{sys.executable}" -m holdfast "$@"\n'
    )
    program.chmod(0o700)
    (tmp_path / "notes.json").write_text("{}")
    catalog = Catalog(tmp_path / "data/sessions")
    sessions: list[str] = []
    for _ in range(2):
        session = create(catalog, cwd=tmp_path, model="ollama:tiny")
        session.store.close()
        sessions.append(session.id)
    environ = {
        "PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "HOLDFAST_HOME": str(tmp_path / "data"),
        "LANG": "C.UTF-8",
    }
    with Terminal(["/bin/sh", "-c", start], env=environ, cwd=tmp_path) as terminal:
        terminal.wait_text(PROMPT)
        terminal.settle()
        terminal.send(f"{set_up}; echo rea''dy\r")
        terminal.wait_text(r"(?m)^ready")
        for typed, shown in (
            ("holdfast doc", r"holdfast doctor"),
            ("holdfast -m anthropic:cl", r"holdfast -m anthropic:claude-sonnet-5-5"),
            ("holdfast --model=anthropic:cl", r"holdfast --model=anthropic:claude-sonnet-5-5"),
            ("holdfast check no", r"holdfast check notes\.json"),
            ("holdfast sessions show ", rf"(?s){sessions[1][-8:]}\b.*{sessions[0][-8:]}\b"),
        ):
            terminal.send(f"\x0c{typed}{Key.TAB.decode()}{Key.TAB.decode() if typed.endswith(' ') else ''}")
            terminal.wait_text(shown)
            eventually(lambda: emptied(terminal))
