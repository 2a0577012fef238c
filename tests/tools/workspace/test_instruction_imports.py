"""What instruction files import, and the rules and files that are for some paths only: found, bounded, explained."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.tools.tool import Instruction
from holdfast.tools.workspace import instruction_imports
from holdfast.tools.workspace.instruction_files import ROOM, instructions
from holdfast.tools.workspace.instruction_imports import import_names
from holdfast.tools.workspace.nested_instructions import nested_instructions
from holdfast.tools.workspace.path_rules import _compiled, rules_for


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the top folder of a repository."""
    folder = tmp_path.resolve() / "repo"
    (folder / ".git").mkdir(parents=True)
    return folder


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def by_name(found: tuple[Instruction, ...]) -> dict[str, str]:
    return {each.snapshot.path: each.text for each in found}


def shown(root: Path) -> dict[str, str]:
    return by_name(instructions(root, root.parent / "config" / "AGENTS.md"))


def test_an_import_stands_behind_the_file_that_names_it(root: Path) -> None:
    put(
        root / "AGENTS.md",
        "Read @docs/style.md and @README.\n\nAsk @someone, not `@docs/no.md`.\n```\n@docs/no.md\n```\n",
    )
    put(root / "docs/style.md", "Style: @naming.md")
    put(root / "docs/naming.md", "Names: @../AGENTS.md")
    put(root / "docs/no.md", "never")
    put(root / "README", "readme")
    assert list(shown(root).items())[1:] == [
        ("docs/style.md", "Style: @naming.md"),
        ("docs/naming.md", "Names: @../AGENTS.md"),
        ("README", "readme"),
    ]


def test_imports_go_four_files_deep(root: Path) -> None:
    put(root / "AGENTS.md", "@1.md")
    for number in range(1, 7):
        put(root / f"{number}.md", f"@{number + 1}.md")
    found = shown(root)
    assert list(found) == ["AGENTS.md", "1.md", "2.md", "3.md", "4.md", "5.md"]
    assert found["4.md"] == "@5.md"
    assert found["5.md"] == "[Not shown: it is imported over more than 4 files. Read it when you need it.]"


def test_what_may_not_be_imported_is_said(root: Path) -> None:
    put(root.parent / "secret.md", "the secret")
    put(root / ".env", "KEY=1")
    put(root / "data.yaml", "key: 1")
    put(root / "CLAUDE.md", "@../secret.md @link.md @.env @data.yaml @pipe.md @gone.md @/etc/passwd")
    (root / "link.md").symlink_to(root.parent / "secret.md")
    os.mkfifo(root / "pipe.md")
    found = shown(root)
    reasons = {name: text for name, text in found.items() if name != "CLAUDE.md"}
    assert "the secret" not in str(reasons)
    assert reasons.pop("gone.md").startswith("[Not shown: File 'gone.md' does not exist.")
    assert "a named pipe, not a regular file" in reasons.pop("pipe.md")
    assert reasons == {
        str(root.parent / "secret.md"): "[Not shown: it is imported from outside the repository.]",
        "link.md": "[Not shown: it is a link out of the repository.]",
        ".env": "[Not shown: it is imported, and may hold secrets.]",
        "data.yaml": "[Not shown: it is imported, and is no text for readers. Read it when you need it.]",
        "/etc/passwd": "[Not shown: it is imported from outside the repository.]",
    }


def test_the_users_own_file_may_import_from_anywhere(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent / "home"))
    put(root.parent / "config" / "AGENTS.md", "@~/mine.md")
    mine = put(root.parent / "home" / "mine.md", "my own")
    assert shown(root)[str(mine)] == "my own"


def test_the_number_of_imports_and_their_size_are_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instruction_imports, "MOST_IMPORTS", 2)
    put(root / "AGENTS.md", " ".join(f"@{name}.md" for name in "abcd"))
    for name in "abcd":
        put(root / f"{name}.md", name * ROOM)
    found = shown(root)
    assert list(found) == ["AGENTS.md", "a.md", "b.md", "c.md"]
    assert found["c.md"].startswith("[Not shown: more than 2 files are imported")
    assert sum(map(len, found.values())) < ROOM + 1_000


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("see @a.md, (@b/c.md) and @d.", ["a.md", "b/c.md", "d"]),
        ("mail me@example.com or ``@x.md``", []),
        ("`@a.md` ~~~\n@b.md", ["b.md"]),
        ("~~~\n@b.md\n~~~\n@c.md", ["c.md"]),
        ("```\nnever closed @b.md", []),
    ],
)
def test_names_outside_code(text: str, names: list[str]) -> None:
    assert import_names(text) == names


def test_the_file_of_one_person_counts_beside_the_other(root: Path) -> None:
    put(root / "CLAUDE.local.md", "mine here")
    put(root / ".claude" / "CLAUDE.md", "in the folder")
    assert list(shown(root)) == [".claude/CLAUDE.md", "CLAUDE.local.md"]
    put(root / "AGENTS.md", "ours")
    assert list(shown(root)) == ["AGENTS.md", "CLAUDE.local.md"]


RULES = ".claude/rules"


def test_rules_without_paths_are_for_all_and_the_others_for_what_they_name(root: Path) -> None:
    put(root / RULES / "all.md", "# Always")
    put(root / RULES / "deep" / "ts.md", "---\npaths:\n  - src/**/*.{ts,tsx}\n  - '*.sql'\n---\nTypes")
    put(root / RULES / "broken.md", "---\npaths: 'x\n---\nno")
    put(root / RULES / "flow.md", "---\npaths: [api/**, lib/*.py]\n---\nThe API")
    found = shown(root)
    assert found[f"{RULES}/all.md"] == "# Always"
    assert "a quoted text has no end" in found[f"{RULES}/broken.md"]
    assert set(found) == {f"{RULES}/all.md", f"{RULES}/broken.md"}

    def told(*names: str) -> dict[str, str]:
        return by_name(nested_instructions(root, names))

    assert told("src/a/b.ts") == {f"{RULES}/deep/ts.md": "Types"}
    assert told("any/where.sql") == {f"{RULES}/deep/ts.md": "Types"}
    assert set(told("api/x/y.go", "src/a.tsx")) == {f"{RULES}/deep/ts.md", f"{RULES}/flow.md"}
    assert told("src/a.py", "lib/deep/x.py", str(root.parent / "out.sql")) == {}


def test_the_patterns_of_a_folder_of_rules_are_bounded_together(root: Path) -> None:
    long = "x" * 3_900
    for name, patterns in (
        ("a", ["{1,2,3}/*.py"]),
        ("b", ["{a,b,c,d,e,f,g,h,i,j}" * 3, "more"]),
        ("c", [f"{long}{number}" for number in range(7)]),
        ("d", ["{a,b,c,d,e,f,g,h}" * 3 + "x"]),
        ("e", ["{a,b,c,d,e,f,g,h}" * 3 + "y"]),
        ("f", ["{a,b}.txt"]),
    ):
        put(root / RULES / f"{name}.md", f"---\npaths: {patterns}\n---\nRule {name}.")
    _compiled.cache_clear()
    assert {Path(name).stem for name, text in shown(root).items() if "more than 1,000 patterns" in text} == {"b", "e"}
    assert _compiled.cache_info().currsize == 0, "a start compiles none"
    put(root / RULES / "d.md", f"---\npaths: [{'y' * 4_000}, {'z' * 4_000}]\n---\nRule d.")
    assert {Path(name).stem for name, text in shown(root).items() if "more than 1,000 patterns" in text} == {"b", "d"}
    found = rules_for(root, root, [root / "2" / "x.py", root / "deep" / "b.txt"], within=root)
    assert [each.raw for each in found] == [b"Rule a.", b"Rule f."]


def test_nested_files_are_those_between_the_workspace_and_what_was_touched(root: Path) -> None:
    put(root / "AGENTS.md", "top")
    put(root / "a" / "AGENTS.md", "in a, @more.md")
    put(root / "a" / "more.md", "more of a")
    put(root / "a" / "b" / "CLAUDE.md", "in b")
    put(root / "a" / "b" / RULES / "r.md", "---\npaths: '*.py'\n---\nrule of b")
    put(root / "c" / "AGENTS.md", "in c")
    assert list(by_name(nested_instructions(root, ["a/b/x.py"])).items()) == [
        ("a/AGENTS.md", "in a, @more.md"),
        ("a/more.md", "more of a"),
        (f"a/b/{RULES}/r.md", "rule of b"),
        ("a/b/CLAUDE.md", "in b"),
    ]
    assert set(by_name(nested_instructions(root, ["a/x", "top.py"]))) == {"a/AGENTS.md", "a/more.md"}
    assert nested_instructions(root, ["x.py", "../out"]) == ()
