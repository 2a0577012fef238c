"""What an approval sees of a line: which files it reads and writes, from which folder, and through which links."""

from __future__ import annotations

import os
from pathlib import Path
from posixpath import join, normpath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Ask, Deny, Policy, decide
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.workspace.command_files import disk_surroundings

ROOT = "/srv/work/project"


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def runs(command: str, *, folder: str | None = None) -> Plan:
    line = command_parts(command, root=ROOT, folder=folder)
    return Plan(effect="execute", title="run", run=_never, command=command, line=line)


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "git status && git diff | head -50",
        "cd src && cat a.py",
        "cd src && cat ../README.md",
        f"cd {ROOT} && ls",
        f"cat {ROOT}/a.py",
        "cat src/../a.py",
        "grep -rn 'x y' src 2>/dev/null | sort | uniq -c",
        "ls > /dev/null 2>&1",
        "cat < a.py",
        "(cd src; ls)",
        'echo "$(cat a.py)"',
    ],
)
def test_what_only_reads_here_is_free_in_every_mode(command: str) -> None:
    assert decide(runs(command), Policy("ask")) == Allow()
    assert decide(runs(command), Policy("accept-edits")) == Allow()
    assert decide(runs(command), Policy("plan")) == Allow()


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/hosts",
        "cat ../other",
        "cat src/../../x",
        "cd .. && cat x",
        "cd .. && ls",
        "cd src; cat ../../x",
        "cd src; cat ../x",
        "cd /etc && ls",
        "cd && ls",
        "cd - && ls",
        "cat < /etc/hosts",
        "diff a.py /etc/hosts",
        "grep -r x /srv/work",
        "cat /srv/work/projects",
    ],
)
def test_what_reads_elsewhere_is_asked_about_in_plan_mode_too(command: str) -> None:
    for mode in ("ask", "accept-edits", "plan"):
        decision = decide(runs(command), Policy(mode))
        assert isinstance(decision, Ask), mode
        assert "outside the workspace" in decision.why
    assert decide(runs(command), Policy("yolo")) == Allow()


@pytest.mark.parametrize(
    ("command", "writes"),
    [
        ("ls > out.txt", ("out.txt",)),
        ("ls >> src/out.txt", ("src/out.txt",)),
        ("cd src && ls > out.txt", ("src/out.txt",)),
        ("cd src; ls > out.txt", ("out.txt", "src/out.txt")),
        ("ls | tee a b", ("a", "b")),
        ("ls &> a", ("a",)),
        ("ls > 'a b'", ("a b",)),
        ("> a", ("a",)),
        ("ls >| a", ("a",)),
    ],
)
def test_a_redirection_is_a_write(command: str, writes: tuple[str, ...]) -> None:
    line = command_parts(command, root=ROOT)
    assert {path for part in line.parts for path in part.writes} >= set(writes)
    assert isinstance(decide(runs(command), Policy("ask")), Ask)
    assert decide(runs(command), Policy("accept-edits")) == Allow()
    assert isinstance(decide(runs(command), Policy("plan")), Deny)


@pytest.mark.parametrize(
    "command",
    [
        "ls > /tmp/x",
        "ls > ../x",
        "ls > .git/hooks/pre-commit",
        "ls > $X",
        "ls | tee .envrc",
        "ls > ~/x",
        "cd ..; ls > x",
    ],
)
def test_a_write_elsewhere_or_to_what_runs_by_itself_is_asked_about(command: str) -> None:
    assert isinstance(decide(runs(command), Policy("accept-edits")), Ask)
    assert isinstance(decide(runs(command), Policy("plan")), Deny)


def test_the_folder_of_a_call_is_where_its_paths_begin() -> None:
    assert decide(runs("cat ../a", folder=f"{ROOT}/src"), Policy("ask")) == Allow()
    assert isinstance(decide(runs("cat ../../a", folder=f"{ROOT}/src"), Policy("ask")), Ask)
    assert isinstance(decide(runs("ls", folder="/etc"), Policy("ask")), Ask)
    (part,) = command_parts("ls > x", root=ROOT, folder=f"{ROOT}/src").parts
    assert part.writes == ("src/x",)


def test_a_link_leads_where_it_leads(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "away").symlink_to(tmp_path)
    (root / "secret").symlink_to("/etc/hosts")
    (root / "inside").symlink_to("src")

    def outside(command: str) -> bool:
        line = command_parts(command, root=os.path.realpath(root), around=disk_surroundings())
        return any(part.outside or any(path.startswith("/") for path in part.writes) for part in line.parts)

    assert outside("cat secret")
    assert outside("ls away")
    assert outside("cat away/x")
    assert outside("cd away && ls")
    assert outside("ls > away/x")
    assert outside("cat *")
    assert outside("cat s*t")
    assert not outside("cat src/*")
    assert not outside("ls inside")
    assert not outside("cd inside && ls > x")


names = st.sampled_from(["a", "b", "..", ".", "/etc", "/srv/work", ROOT, "/", "~", "src", "a/../..", "", "../project"])


@given(steps=st.lists(names, max_size=3), path=names, folder=st.sampled_from([None, f"{ROOT}/src"]))
@example(steps=["a", ".."], path="b", folder=None)
def test_a_chain_of_folders_ends_where_a_shell_ends(steps: list[str], path: str, folder: str | None) -> None:
    command = " && ".join((*(f"cd '{step}'" for step in steps), f"cat '{path}'"))
    at = normpath(join(folder or ROOT, *steps, path))
    decision = decide(runs(command, folder=folder), Policy("ask"))
    left = any(
        not f"{normpath(join(folder or ROOT, *steps[: end + 1]))}/".startswith(f"{ROOT}/") for end in range(len(steps))
    )
    inside = f"{at}/".startswith(f"{ROOT}/")
    if not inside or (left and "" not in steps):
        assert isinstance(decision, Ask), command
    elif not left and "" not in (*steps, path):
        assert decision == Allow(), command


def test_a_line_that_is_not_understood_asks_and_says_why() -> None:
    for command in ("ls 'unclosed", "f() { ls; }; f", "ls )"):
        decision = decide(runs(command), Policy("ask"))
        assert isinstance(decision, Ask)
        assert "that holdfast cannot judge: " in decision.why
        assert isinstance(decide(runs(command), Policy("plan")), Deny)


def test_git_is_free_only_where_the_repository_starts_nothing(tmp_path: Path) -> None:
    root = os.path.realpath(tmp_path)

    def more(command: str) -> bool:
        line = command_parts(command, root=root, around=disk_surroundings())
        return any(part.more for part in line.parts)

    assert not more("git status")
    (tmp_path / ".git").mkdir()
    assert not more("git status")
    config = tmp_path / ".git" / "config"
    config.write_text("[core]\n\tbare = false\n")
    assert not more("git status && git diff")
    config.write_text("[core]\n\tfsmonitor = ./evil\n")
    assert more("git status")
    assert more("mkdir x; git -P log")
    assert more("git -C . status")
    config.write_bytes(b"\xff")
    assert more("git status")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: ../elsewhere\n")
    (tmp_path / "elsewhere").mkdir()
    config.write_text("[core]\n\tbare = false\n")
    assert not more("cd inner && git status")
    (tmp_path / "elsewhere" / "config").write_text("[core]\n\tpager = ./evil\n")
    assert more("cd inner && git status")
    assert more("git -C inner status")
    assert not more("git status")
    (inner / ".git").write_text("what is this")
    assert more("cd inner && git status")
