"""`holdfast config edit` in a real terminal, with an editor that is a script: what it writes, and what is kept."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from launching import CONFIG, World
from test_terminal import screen

EDITOR = """\
import pathlib, sys
file = pathlib.Path(sys.argv[2])
file.write_text(file.read_text().replace("backoff = 0.01", sys.argv[1]))
"""


def edited(world: World, tmp_path: Path, text: str, pattern: str) -> tuple[int, re.Match[str]]:
    """Return the exit code and what was said, once an editor has written `text` in the place of a setting."""
    editor = tmp_path / "editor.py"
    editor.write_text(EDITOR)
    command = f"{sys.executable} {editor} '{text}'"
    with screen(world, "config", "edit", columns=250, VISUAL="", EDITOR=command) as terminal:
        code = terminal.wait()
        return code, terminal.wait_text(pattern)


def test_what_an_editor_writes_is_the_config_if_it_can_be_read(one_world: World, tmp_path: Path) -> None:
    """What cannot be read changes nothing, and is not lost."""
    path = one_world.home / "config.toml"
    code, _ = edited(one_world, tmp_path, "backoff = 0.01", r"config\.toml is unchanged\.")
    assert (code, path.read_text()) == (0, CONFIG)
    code, match = edited(one_world, tmp_path, "backoff = [", r"is unchanged; your edit is in\s+(\S+\.toml)\.")
    assert (code, path.read_text()) == (2, CONFIG)
    left = Path(match[1])
    assert "backoff = [" in left.read_text()
    left.unlink()
    code, _ = edited(one_world, tmp_path, "max_steps = 7", r"config\.toml is changed\.")
    assert (code, path.read_text()) == (0, CONFIG.replace("backoff = 0.01", "max_steps = 7"))
