"""`/diff` in a real terminal: the last turn, the session and the working tree, file by file, by the keyboard."""

from __future__ import annotations

import subprocess

from launching import World
from terminal import Key
from test_terminal import screen

from holdfast.testing.script import Call, Say

RIGHT = b"\x1b[C"


def test_what_changed_is_shown(one_world: World) -> None:
    far = one_world.folder / "far.txt"
    far.write_text("".join(f"{number}\n" for number in range(1, 41)))
    who = ("-c", "user.name=x", "-c", "user.email=x@y")
    for words in (("init", "-q"), ("add", "far.txt"), (*who, "commit", "-q", "-m", "x")):
        subprocess.run(["git", *words], cwd=one_world.folder, check=True)
    far.write_text(far.read_text().replace("20\n", "twenty\n"))
    (one_world.home / "config.toml").write_text('edit_tool = "edit"\n')
    (one_world.folder / "made.txt").write_text("by hand\n")
    one_world.script(
        [Call("write", {"path": "a.py", "content": "".join(f"line {n}\n" for n in range(60))})],
        [Say("Written.")],
        [Call("read", {"path": "a.py"}), Call("edit", {"path": "a.py", "old": "line 7\n", "new": "line seven\n"})],
        [Call("write", {"path": "b.py", "content": "other\n"})],
        [Say("Edited.")],
    )
    with screen(one_world, "-m", one_world.model, "--permission-mode", "accept-edits") as terminal:
        terminal.wait_text("Ask holdfast")
        terminal.line("write")
        terminal.wait_text("Written")
        terminal.wait_absent("esc to interrupt")
        terminal.line("edit")
        terminal.wait_text("Edited")
        terminal.wait_absent("esc to interrupt")
        terminal.line("/diff")
        terminal.wait_text(r"Diff +last turn · session · working tree\n +1/2 +a\.py +\+1 -1")
        terminal.wait_text(r"- line 7\n")
        terminal.wait_text(r"\+ line seven")
        assert "line 50" not in terminal.text()
        terminal.send(RIGHT)
        terminal.wait_text(r"2/2 +b\.py +\+1 -0")
        terminal.send(Key.TAB)
        terminal.wait_text(r"1/2 +a\.py +\+61 -1")
        for _ in range(4):
            terminal.send(Key.PAGE_DOWN)
        terminal.wait_text(r"\+ line seven")
        terminal.send(Key.TAB)
        terminal.wait_text(r"1/4 +far\.txt +\+1 -1")
        terminal.wait_text(r"⋮ 16 unchanged lines · ctrl\+o\n[^\n]+17\n")
        terminal.wait_text(r"⋮ 17 unchanged lines · ctrl\+o")
        terminal.send(Key.ENTER)
        terminal.wait_text(r"⋮ 16 unchanged lines shown · ctrl\+o\n +1 +1\n")
        terminal.send(Key.CTRL_O)
        terminal.send(Key.END)
        terminal.wait_text(r" 40 +40\n")
        terminal.send(Key.CTRL_O)
        terminal.wait_text(r"⋮ 16 unchanged lines · ctrl\+o")
        terminal.send(RIGHT)
        terminal.wait_text(r"2/4 +a\.py +\+60 -0")
        terminal.wait_text("not tracked by git|line 0")
        terminal.resize(60, 16)
        terminal.wait_text(r"2/4 +a\.py")
        terminal.send(Key.ESC)
        terminal.wait_absent("Diff +last turn")
        terminal.line("/diff nothing")
        terminal.wait_text(r"expected one of turn, session,\s+tree")
