"""What runs without a question, and what does not: searches that end, files that others run, patterns of commands."""

from __future__ import annotations

import os

import pytest
from launching import World, bash

from holdfast.testing.script import Call, Say
from tiers import sampled

STOP = ("--on-approval", "stop")


def test_a_search_ends_whatever_the_pattern_and_the_rules_of_the_folder(one_world: World) -> None:
    deep = one_world.folder.joinpath(*["a"] * 30)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).write_text("text\n")
    (one_world.folder / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*b\n" + "a/**/" * 15 + "b\n")
    many = "**/a/" * 15 + "b"
    one_world.script([Call("glob", {"pattern": many}), Call("grep", {"pattern": "x", "glob": many})], [Say("done")])
    ran = one_world.ask("search")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert one_world.results == [f"No files match {many!r} in '.'.", "No lines match 'x' in '.' (0 files)."]


@pytest.mark.parametrize(
    "path", sampled([".mcp.json", ".devcontainer.json", ".cargo/config.toml", "sub/HEAD", ".SSH/rc", "run.sh"], 3)
)
def test_what_other_programs_run_is_not_written_unasked(one_world: World, path: str) -> None:
    (one_world.folder / ".envrc").symlink_to("run.sh")
    one_world.script(
        [Call("write", {"path": "src/app.py", "content": "x"})],
        [Call("write", {"path": path, "content": "x"})],
        [Say("asked")],
    )
    ran = one_world.run("-m", one_world.model, "--permission-mode", "accept-edits", "-p", "write it", *STOP)
    assert ran.code == 3, ran.err
    assert "other programs run or obey by themselves" in ran.err
    assert (one_world.folder / "src/app.py").exists()
    assert not (one_world.folder / path).exists()
    one_world.go_on()


def allow(world: World, text: str) -> None:
    (world.folder / ".holdfast").mkdir(exist_ok=True)
    (world.folder / ".holdfast/config.toml").write_text(f"[allow]\n{text}\n")


@pytest.mark.parametrize(
    "command",
    sampled(
        [
            "pytest --basetemp=precious tests",
            "pytest --base=precious tests",
            "pytest -xc evil.ini tests",
            "pytest tests --junit-xml precious/letter",
            "make test -fevil.mk",
            "make test SHELL=./evil",
            "npm test --script-shell ./evil",
        ],
        3,
    ),
)
def test_a_remembered_command_does_no_more_than_it_was_remembered_for(one_world: World, command: str) -> None:
    allow(one_world, 'run = ["pytest *", "make test *", "npm test *"]')
    program, *_ = command.split()
    precious = one_world.folder / "precious"
    precious.mkdir()
    (precious / "letter").write_text("dear\n")
    tools = one_world.folder / "bin"
    tools.mkdir()
    (tools / program).write_text("#!/bin/sh\necho $* >> ran; case $* in *prec*) rm -r precious;; esac\n")
    (tools / program).chmod(0o755)
    environ = one_world.environ(PATH=f"{tools}:{os.environ['PATH']}")
    harmless = {"pytest": "pytest -k a tests", "npm": "npm test --silent"}.get(program, f"{program} test -k")
    one_world.script([bash(harmless)], [bash(command)], [Say("asked")])
    ran = one_world.run("-m", one_world.model, "-p", "test it", "--trust-project", *STOP, environ=environ)
    assert ran.code == 3, ran.err
    assert one_world.lines("ran") == [harmless.partition(" ")[2]]
    assert (precious / "letter").read_text() == "dear\n"
    one_world.go_on(environ=environ)


def test_a_pattern_that_matches_nothing_is_refused_with_one_that_does(one_world: World) -> None:
    allow(one_world, 'write = ["**"]')
    one_world.script([Say("works")])
    ran = one_world.run("-m", one_world.model, "-p", "hello", "--trust-project")
    assert ran.code == 0, ran.err
    assert "'**' matches nothing: it is not a file or FOLDER/** in this folder" in ran.err
    assert "as 'README.md' or 'src/**'" in ran.err
