"""The script of docs/how-to/ci.md, as a shell runs it, against a scripted provider."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from launching import World, bash

from holdfast.testing.script import Call, Fail, Say

PAGE = Path(__file__).parents[2] / "docs/how-to/ci.md"


def script() -> str:
    found = re.search(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    return found[1]


def run(world: World, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the script in a repository with a failing test."""
    author = {f"GIT_{who}_{what}": "ci@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**world.environ(**more), **author, "PATH": path}
    (world.folder / "fix.sh").write_text(script())
    (world.folder / "sum.py").write_text("def total(a, b):\n    return a - b\n")
    (world.folder / "test.log").write_text("assert total(1, 2) == 3\n")
    start = 'git init -q . && git add . && git commit -q -m start && exec sh fix.sh "$1"'
    command = ["sh", "-c", start, "sh", world.model]
    return subprocess.run(command, cwd=world.folder, env=environ, capture_output=True, text=True, check=False)


def log(world: World) -> list[str]:
    done = subprocess.run(["git", "log", "--format=%s"], cwd=world.folder, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_it_fixes_reviews_and_commits(one_world: World) -> None:
    world = one_world
    world.one_past = False  # no session is left to compare with
    edit = Call("edit", {"path": "sum.py", "old": "a - b", "new": "a + b"})
    world.script(
        (Call("read", {"path": "sum.py"}),),
        (edit, bash("python -m pytest --version"), bash("git push")),
        (Say("Fixed."),),
        (Say("Nothing to correct."),),
        (Say("total adds again\n"),),
    )
    done = run(world)
    assert done.returncode == 0, done.stderr
    assert log(world) == ["total adds again", "start"]
    assert (world.folder / "sum.py").read_text() == "def total(a, b):\n    return a + b\n"
    assert done.stderr.replace('{"command":"', '{"command": "') == 'denied: bash {"command": "git push"}\n'
    assert [text for text in world.results if "pytest" in text and "was not run" not in text]
    assert world.sessions == []


def test_a_cost_limit_commits_nothing(one_world: World) -> None:
    world = one_world
    world.one_past = False
    world.script((Call("read", {"path": "sum.py"}),), (Say("not reached"),))
    done = run(world, MAX_COST="0.000001")
    assert done.returncode == 5, done.stderr
    assert "The run reached its cost limit. Nothing is committed." in done.stderr
    assert log(world) == ["start"]


def test_what_a_provider_refuses_has_its_exit_code(one_world: World) -> None:
    world = one_world
    world.one_past = False
    world.script((Fail(400, "no"),), (Fail(400, "no"),), (Fail(400, "no"),))
    done = run(world)
    assert done.returncode == 1
    assert "Nothing is committed." in done.stderr
    assert log(world) == ["start"]
