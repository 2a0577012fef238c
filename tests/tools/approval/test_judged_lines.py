"""Lines that act, or show what lies outside, though their programs only read: none runs unasked.

Each class has a positive control: without a judge, most of its lines do act here.
"""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hostile_folder import SECRET, HostileFolder, is_free
from hypothesis import given
from hypothesis import strategies as st

from hostile_lines import OTHER_PROGRAMS
from laws import law
from skips import needs
from tiers import DEEP

LINES = {
    "a program on standard input": ["python3 -v < evil.py", "cat evil.py | python3 -v", "python3 -vv < evil.py"],
    "quotes and wildcards": [
        'cat "$B/outside"/s*.txt',
        "cat '$B/outside/secret.tx'?",
        'cat l"i"n?',
        "cat l[^x]nk",
        "cat l[!x]nk",
        "cat sub/o[^x]t/plain.txt",
        "cat '../outside'/s*",
        "sed p l'i'n?",
        "awk 1 l\\in?",
        'sort "./"../outside/s*',
    ],
    "a folder above a link": [
        "cat data/../plain.txt",
        "head < data/../plain.txt",
        "cd -P data/.. && cat plain.txt",
        "cd -LP data/.. && cat plain.txt",
        "echo $(<data/../plain.txt)",
        "cat sub/../data/../plain.txt",
        "xxd data/../plain.txt | xxd -r",
        "cat */../plain.txt",
        "cat */plain.txt",
    ],
    "links that the program finds": [
        "grep -R TOPSECRET .",
        "grep -r TOPSECRET . --dereference-recursive",
        "grep --deref TOPSECRET -d recurse .",
        "find -L . -type f -exec cat {} +",
        "find . -name link -exec cat {} +",
        "find . -follow -type f -exec cat {} +",
        "find . -type l -exec cat {} \\;",
        "diff sub/out /dev/null -r",
        "ls -LR data/.. sub/out",
    ],
    "names in a file": ["wc --files0-from=list0 && cat link", "cat $(cat list)", "xargs cat < list"],
    "an abbreviated option": ["grep --regex=TOP $B/outside/plain.txt", "grep --reg=TOP $B/outside/plain.txt"],
    "a secret of the workspace": ["cat .env", "cat < .env", "cat .e*", "grep -rn KEY .", "head -n 1 .ENV .env"],
    "a repository within the workspace": ["git diff --no-index a.txt link --ext-diff; cat link"],
}
FLAT = [(kind, line) for kind, lines in LINES.items() for line in lines]


def test_no_hostile_line_is_free(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    assert [each for each in FLAT if is_free(folder, folder.filled(each[1]))] == []
    assert [each for each in FLAT if is_free(folder, folder.filled(each[1]), "plan")] == []


def test_no_line_of_another_program_is_free(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    lines = [line for line in OTHER_PROGRAMS.splitlines() if line]
    assert len(lines) >= 60
    assert [line for line in lines if is_free(folder, folder.filled(line))] == []


def test_a_folder_that_bash_lists_for_a_pattern_counts_though_nothing_in_it_matches(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    assert not is_free(folder, "cat */no-such-name*"), "`data` is a link to a folder outside"
    assert not is_free(folder, "cat sub/*/no-such-name*")
    assert is_free(folder, "cat s*/no-such-name*")


def test_usual_lines_are_free_in_the_same_folder(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    usual = ["cat a.txt", "cat *.txt", "ls -la", "grep -n two a.txt b.txt", "find . -name '*.txt'", "git log --oneline"]
    usual += [
        "git status",
        "head -5 a.txt | sort",
        "cd sub && cat c.txt",
        "wc -l *.txt",
        "sed -n 1p a.txt",
        "jq . j.json",
    ]
    assert [each for each in usual if not is_free(folder, each)] == []


@pytest.mark.parametrize("kind", LINES)
def test_the_lines_of_each_class_act_if_they_are_run(kind: str, tmp_path: Path) -> None:
    acted = 0
    for at, line in enumerate(LINES[kind]):
        (tmp_path / str(at)).mkdir()
        folder = HostileFolder(tmp_path / str(at))
        before = folder.contents()
        printed = folder.run(folder.filled(line))
        acted += SECRET in printed or "deep-name" in printed or folder.contents() != before
    assert acted * 2 > len(LINES[kind]), "most lines of a class must act, or it shows nothing"


REPOSITORIES = {
    "a comment that ends in a backslash": "[a]\n# x\\\n[core]\n\tfsmonitor = ./evil\n",
    "a form feed before a section": "[a]\n\tb = c\x0c[core]\n\tfsmonitor = ./evil\n",
    "hooks in a folder called off": "[core]\n\thooksPath = off\n",
    "an included file called off": "[include]\n\tpath = off\n",
    "a merge driver": '[merge "x"]\n\tdriver = ./evil\n',
    "a promised object": '[extensions]\n\tpartialClone = x\n[remote "x"]\n\tuploadpack = ./evil\n\tpromisor = true\n',
    "a setting of tomorrow": "[core]\n\tsomethingNew = ./evil\n",
    "a setting in the line of its section": "[core] fsmonitor = ./evil\n",
    "a section with an escape in its name": '[diff "x\\"y"]\n\ttextconv = ./evil\n',
    "a section in an older form": "[include.x]\n\tpath = evil\n",
}


@pytest.mark.parametrize("kind", REPOSITORIES)
def test_git_is_not_free_in_a_repository_with_a_setting_that_is_not_in_the_list(kind: str, tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    lines = ["git status", "git log", "git diff", "cd sub && git show", "git -C sub log"]
    assert all(is_free(folder, line) for line in lines)
    with (folder.ws / ".git/config").open("a") as config:
        config.write(REPOSITORIES[kind])
    assert [line for line in [*lines, "find . -maxdepth 0 -exec git status \\;"] if is_free(folder, line)] == []


def test_a_program_that_lies_in_the_workspace_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = HostileFolder(tmp_path)
    (folder.ws / "bin").mkdir()
    (folder.ws / "bin/ls").write_text("#!/bin/sh\ntouch PWNED\n")
    (folder.ws / "bin/ls").chmod(0o755)
    for first in ("bin", str(folder.ws / "bin")):
        monkeypatch.setenv("PATH", f"{first}:/usr/bin:/bin")
        assert not is_free(folder, "ls")
        assert is_free(folder, "cat a.txt")


def test_a_file_whose_name_is_an_option_is_not_handed_over(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    (folder.ws / "plain").mkdir()
    (folder.ws / "plain/a.txt").touch()
    assert is_free(folder, "cd plain && wc -l *")
    (folder.ws / "plain/--files0-from=list0").touch()
    assert not is_free(folder, "cd plain && wc -l *")
    assert is_free(folder, "cd plain && wc -l ./*")


@pytest.mark.parametrize("line", ["(" * 6000 + ")" * 6000, "[" * 16_000, "ls|" * 5000 + "ls", "cat " + "*/" * 2000])
def test_a_line_that_is_hard_to_judge_asks(line: str, tmp_path: Path) -> None:
    assert not is_free(HostileFolder(tmp_path), line)


def test_patterns_of_one_line_share_their_bound(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    for at in range(700):
        (folder.ws / "many" / f"d{at}").mkdir(parents=True)
    assert is_free(folder, "cat many/*/*.txt")
    assert not is_free(folder, "cat many/*/*.txt many/*/*.md")


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("ls # " + "x" * 16_384, "ls # " + "x" * 16_000),
        ("ls;" * 256 + "ls", "ls;" * 255 + "ls"),
        ("ls " + "a " * 1_024, "ls " + "a " * 1_000),
        ('echo "$(' * 40 + "ls" + ')"' * 40, 'echo "$(' * 8 + "ls" + ')"' * 8),
        ("cat " + "x*/" * 33 + "x", "cat " + "x*/" * 9 + "x"),
    ],
)
def test_a_line_above_a_limit_asks_and_one_below_does_not(above: str, below: str, tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    assert not is_free(folder, above)
    assert is_free(folder, below)


# --- what the kernel sees of lines that are put together --------------------------------------------------------------

PROGRAMS = ["cat", "head", "sort", "wc", "grep", "sed", "awk", "ls", "find", "diff", "xxd"]
MORE_PROGRAMS = ["md5sum", "jq", "strings", "python3", "git", "tac", "od", "cut", "file", "stat"]
OPTIONS = ["", "", "-n", "-r", "-R", "-L", "-l", "-v", "--", "1p", "-exec cat {} +", "-e TOP", "TOP", ".", "1", "-c"]
NAMES = ["link", "data", "data/..", "data/../plain.txt", "sub/out", "sub/out/plain.txt", "a.txt", "sub", ".", "list"]
MORE_NAMES = [
    "../outside/plain.txt",
    "$B/outside/plain.txt",
    "evil.py",
    "*",
    "sub/*",
    "../*",
    "*/*",
    "l*",
    ".env",
    ".e*",
]
QUOTES = ["{}", '"{}"', "'{}'", '"{}"*', "{}?", "./{}", "\\{}", "{}/../a.txt", "< {}", "$(echo {})", "[{}]", "{}''"]
JOINTS = [" ", " | ", "; ", " && cat ", " < "]


def written(quote: str, name: str) -> str:
    """Return a name as a line may write it."""
    return quote.format(name)


def command_of(program: str, option: str, words: list[str]) -> str:
    """Return one simple command."""
    return " ".join(filter(None, (program, option, *words)))


def line_of(before: str, first: str, joint: str, second: str) -> str:
    """Return two commands as one line."""
    return f"{before}{first}{joint}{second}"


word = st.builds(written, st.sampled_from(QUOTES), st.sampled_from([*NAMES, *MORE_NAMES]))
command = st.builds(
    command_of,
    st.sampled_from([*PROGRAMS, *MORE_PROGRAMS]),
    st.sampled_from(OPTIONS),
    st.lists(word, min_size=0, max_size=2),
)
hostile = st.builds(
    line_of,
    st.sampled_from(["", "", "cd sub && ", "cd data && ", "cd data; cd ..; ", "cd sub/out/.. && "]),
    command,
    st.sampled_from(JOINTS),
    st.one_of(command, word),
)

OPENED = re.compile(r'(?:open|openat|openat2|execve|readlink|chdir)\((?:[^"]*)"([^"]*)".* = (?!-1)')


@needs("strace")
@law(20)
@given(lines=st.lists(hostile, min_size=20, max_size=60))
def test_strace_sees_no_free_line_open_what_lies_outside(lines: list[str]) -> None:
    with TemporaryDirectory() as name:
        folder = HostileFolder(Path(name))
        free = [line for line in map(folder.filled, lines) if is_free(folder, line)]
        before = folder.contents()
        for line in free:
            log = folder.base / "log"
            watch = ("strace", "-f", "-qq", "-s", "4096", "-e", "trace=open,openat,openat2,execve", "-o", str(log))
            printed = folder.run(line, before=watch)
            traced = log.read_text(errors="replace")
            assert "execve" in traced, "strace saw nothing: this law would hold whatever is run"
            log.unlink()
            assert SECRET not in printed, line
            assert "deep-name" not in printed, line
            outside = [path for path in OPENED.findall(traced) if "outside" in path or "id_rsa" in path]
            assert outside == [], line
        assert folder.contents() == before


def test_some_of_the_lines_that_are_put_together_are_free(tmp_path: Path) -> None:
    folder = HostileFolder(tmp_path)
    lines = [f"{program} {option} {name}" for program in PROGRAMS for option in OPTIONS for name in NAMES]
    free = sum(is_free(folder, folder.filled(line)) for line in (lines if DEEP else lines[::7]))
    assert 20 < free < len(lines) / 2
