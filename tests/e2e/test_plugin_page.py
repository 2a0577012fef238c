"""The plug-ins of the how-to page, each one file put in its place: they are listed, and they work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from launching import World

from holdfast.session.journal.entries import CallEnded
from holdfast.testing.script import Call, Say
from polling import HANGS

PAGE = Path(__file__).parents[2] / "docs/how-to/plug-ins.md"


def programs() -> dict[str, str]:
    """Return the programs of the page by the file that each is put in."""
    return dict(re.findall(r"plugins/(\w+\.py)`:\n\n```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))


def fresh(world: World, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(
        command,
        env=world.environ(),
        cwd=world.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )


def test_each_part_is_added_in_one_file_and_works(one_world: World) -> None:
    found = programs()
    assert sorted(found) == ["echo.py", "stock.py", "where.py"]
    folder = one_world.home / "plugins"
    folder.mkdir()
    for name, text in found.items():
        (folder / name).write_text(text)
    listed = fresh(one_world, "plugins")
    assert listed.returncode == 0, listed.stdout
    for what in ("slash command 'where'", "tool 'stock'", "provider 'echo'"):
        assert what in listed.stdout
    echoed = fresh(one_world, "-m", "echo:x", "-p", "Hello")
    assert (echoed.returncode, echoed.stdout) == (0, "Hello\n"), echoed.stderr
    one_world.script([Call("stock", {"article": "nails"})], [Say("Seven.")])
    asked = fresh(one_world, "-m", one_world.model, "-p", "How many nails?")
    assert (asked.returncode, asked.stdout) == (0, "Seven.\n"), asked.stderr
    ended = [
        (each.outcome, each.text)
        for session in one_world.sessions
        for each in one_world.entries(session)
        if isinstance(each, CallEnded)
    ]
    assert ended == [("ok", "nails: 7 pieces")]
