"""What is said to only read: no attack, nothing of what `strace` sees writing or connecting, and most of a session."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shell_cases import cases

from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.command_parts import CommandParts
from holdfast.tools.approval.files_read import paths_read
from holdfast.tools.approval.patterns import part_pattern
from holdfast.tools.known_programs.readers import READERS_BY_NAME
from holdfast.tools.shell.parse import parse_command
from laws import law
from skips import needs
from tiers import DEEP, SEED, spread

ATTACKS = cases("attacks.tsv")
SESSIONS = cases("sessions.tsv")
FREE = [command for shows, command in SESSIONS if shows == "free"]

needs_strace = needs("strace")


def only_reads(command: str) -> bool:
    """Return what an approval goes by."""
    return command_parts(command).only_reads


# --- what asks -------------------------------------------------------------------------------------------------------


def test_no_attack_only_reads() -> None:
    assert len({command for _, command in ATTACKS}) == len(ATTACKS) > 700
    assert [(shows, each) for shows, each in ATTACKS if only_reads(each)] == []


@law(100)
@given(attack=st.sampled_from(ATTACKS), free=st.sampled_from(FREE), joint=st.sampled_from(["; ", " && ", " | ", "\n"]))
def test_an_attack_is_not_hidden_by_what_only_reads(attack: tuple[str, str], free: str, joint: str) -> None:
    assert not only_reads(f"{free}{joint}{attack[1]}")


def test_most_of_a_session_that_only_reads_asks_nothing() -> None:
    wrong = [(shows, each) for shows, each in SESSIONS if (shows == "free") != only_reads(each)]
    assert wrong == []
    assert len(SESSIONS) > 200
    asked_about = [command_parts(command) for _, command in SESSIONS if not only_reads(command)]
    assert len(asked_about) / len(SESSIONS) < 0.45
    never = [line for line in asked_about if not may_be_remembered(line)]
    assert len(never) / len(SESSIONS) < 0.15, "the aim of 15 in 100, once the programs of the project are allowed"


def may_be_remembered(line: CommandParts) -> bool:
    """Return whether every part of a command only reads or has words that may be remembered."""
    return not line.unclear and all(
        not each.more or part_pattern(each, alone=len(line.parts) == 1) for each in line.parts
    )


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("cat a ../b", ["a", "../b"]),
        ("cat -- -n", ["-n"]),
        ("grep -rn /etc src", ["src"]),
        ("grep -e x /etc/passwd", ["/etc/passwd"]),
        ("head -n 5 /etc/passwd", ["/etc/passwd"]),
        ("rg --files /etc", ["/etc"]),
        ("find /etc . -name '*.py' -newer /srv/x", ["/etc", ".", "/srv/x"]),
        ("find . -exec cat /etc/passwd {} +", [".", "cat", "/etc/passwd"]),
        ("sed -n 1p /etc/passwd", ["/etc/passwd"]),
        ("awk '{print}' ../x", ["../x"]),
        ("git -C ../other log", ["../other", "log"]),
        ("echo /etc/passwd", []),
        ("cat ../*", ["../*"]),
        ("[ -f /etc/passwd ]", ["/etc/passwd", "]"]),
    ],
)
def test_what_may_be_read_is_known(command: str, paths: list[str]) -> None:
    line = parse_command(command)
    assert only_reads(command)
    assert [path for each in line.commands for path in paths_read(each)] == paths


# --- what strace sees ------------------------------------------------------------------------------------------------

CALLS = (
    "openat,open,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,link,linkat,symlink,"
    "symlinkat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,mknod,mknodat,"
    "utimensat,setxattr,connect,bind,settimeofday,clock_settime,sethostname,kill,mount,ptrace"
)
HARMLESS = re.compile(
    r'open(?:at)?\((?:AT_FDCWD, )?"/dev/(?:null|tty)"|"[^"]*\.git/index(?:\.lock)?"'
    r'|connect\(.*sun_path="/(?:var/)?run/nscd'
    r"|bind\(\d+, \{sa_family=AF_NETLINK"  # node asks the kernel for its interfaces, and no other host
    r"|ENOENT|\.git/.*index"
)
OPENS = re.compile(r"\bopen(?:at)?\(.*\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")


def seen_doing(lines: Sequence[str]) -> list[str]:
    """Return the calls of the kernel by which these commands write, change or connect, in a folder made for them."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "work"
        (folder / "src").mkdir(parents=True)
        for path in (
            "a.txt",
            "b.txt",
            "data.txt",
            "data.csv",
            "README.md",
            "src/app.py",
            "src/app2.py",
            "data.bin",
            "-la",
        ):
            (folder / path).write_text("one two\nclass three\n")
        (folder / "package.json").write_text('{"scripts": {}, "dependencies": {}}')
        log = Path(name) / "log"
        environ = {"PATH": "/usr/bin:/bin", "HOME": name, "LC_ALL": "C.UTF-8", "GIT_PAGER": "cat", "TERM": "dumb"}
        setup = "git init -q . && git add src && git -c user.name=a -c user.email=b commit -qm x && git branch main2"
        subprocess.run(["/bin/bash", "-c", setup], cwd=folder, env=environ, check=True, capture_output=True, timeout=60)
        before = contents(folder)
        for line in lines:
            watched = ["strace", "-f", "-A", "-qq", "-s", "200", "-e", f"trace={CALLS}", "-e", "signal=none"]
            command = ["timeout", "-k", "1", "10", *watched, "-o", str(log), "/bin/bash", "--norc", "-c", line]
            subprocess.run(
                command, cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
            )
        assert contents(folder) == before
        traced = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        assert not lines or traced, "strace saw nothing: this test would pass whatever is run"
        return [
            call
            for call in traced
            if not HARMLESS.search(call) and ("open" not in call.split("(")[0] or OPENS.search(call))
        ]


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file but git's cache of times."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "index"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@needs_strace
@pytest.mark.deep
def test_strace_sees_no_command_of_a_session_write_or_connect() -> None:
    picked = range(len(FREE)) if DEEP else spread([(each,) for each in FREE], 25, seed=SEED)
    assert seen_doing([FREE[at] for at in picked]) == []


@needs_strace
def test_strace_sees_what_writes() -> None:
    assert seen_doing(["cat a.txt > /dev/null; chmod 644 a.txt"])
    assert seen_doing(["exec 3<>/dev/tcp/127.0.0.1/9"])
    assert seen_doing(["kill -0 $$"])


NAMES = [*sorted(READERS_BY_NAME), "git", "find", "sed", "awk", "xargs", "date", "tar", "hostname", "[", "[[", "printf"]
WORDS = [
    "a.txt",
    "src/app.py",
    "b.txt",
    ".",
    "x",
    "1",
    "*",
    "a*",
    "-",
    "--",
    "-o",
    "-i",
    "-f",
    "-w",
    "-n",
    "-e",
    "-c",
    "-s",
    "--output=out",
    "--output",
    "--out=out",
    "-exec",
    "{}",
    "';'",
    "rm",
    "-delete",
    "-fprint",
    "'w out'",
    "'1w out'",
    "s/o/0/",
    "'s/o/0/w out'",
    "'e touch out'",
    "'{print > \"out\"}'",
    "'{print}'",
    "'BEGIN{system(\"touch out\")}'",
    "log",
    "show",
    "diff",
    "status",
    "branch",
    "tag",
    "stash",
    "config",
    "HEAD",
    "--ext-diff",
    "-O",
    "-D",
    "-v",
    "-t",
    "touch",
    "out",
    "--pre=touch",
    "--compress-program=touch",
    "-T",
    "--to-command=touch",
    "-x",
    "-r",
    "-u",
    "-l",
    "-a",
    "'a[$(touch out)]'",
    "-eq",
    "=",
    "]",
    "]]",
    "-d",
    "-rf",
    "-p",
    "-m",
    "2>&1",
    ">/dev/null",
    "<a.txt",
    "-O2",
    "-R",
    "-b",
]

built = st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(WORDS), max_size=4)).map(
    lambda each: " ".join((each[0], *each[1]))
)


@needs_strace
@law(20)
@given(lines=st.lists(built, min_size=1, max_size=25))
@example(lines=["uniq a.txt out", "sort -o out a.txt", "xxd a.txt out", "tree -o out", "date 01010000"])
def test_strace_sees_nothing_that_only_reads_write_or_connect(lines: list[str]) -> None:
    free = [line for line in lines if only_reads(line) and not line.startswith(("sleep", "tail"))]
    assert seen_doing(free) == []


# Whole lines: parts of sessions and of the words above, put together as the grammar of the shell allows, and beyond it.
quoted = st.sampled_from(
    ["{}", "'{}'", '"{}"', "$'{}'", "\\{}", "{}''", "$(echo {})", "`echo {}`", "{{{},b.txt}}", "${{X:-{}}}"]
)
bent = st.tuples(st.sampled_from(NAMES), st.lists(st.tuples(quoted, st.sampled_from(WORDS)), max_size=3)).map(
    lambda each: " ".join((each[0], *(how.format(word.strip("'")) for how, word in each[1])))
)
calm = st.sampled_from([each for each in FREE if "sleep" not in each and "tail" not in each])
BEFORE = ["", "", "", "! ", "time ", "X=a ", "LC_ALL=C ", "command ", "IFS=/ ", "PATH=. ", "BASH_ENV=out "]
BEHIND = [
    "",
    "",
    "",
    " 2>&1",
    " 2>/dev/null",
    " >/dev/null",
    " <a.txt",
    " >out",
    " >&2",
    " 2>&-",
    " >>out",
    " <<<x",
    " &",
]
piece = st.tuples(st.sampled_from(BEFORE), st.one_of(built, bent, calm), st.sampled_from(BEHIND)).map("".join)
JOINTS = ["; ", " && ", " || ", " | ", "\n", " |& ", " & ", "\r\n", " \\\n", " #", ";;", " > "]
AROUND = [
    *("{}", "{}", "({})", "{{ {}; }}", "echo $({})", 'echo "$({})"', "cat <({})", "echo `{}`", "cd src && {}"),
    *("for i in 1 2; do {}; done", "if {}; then ls; fi", "while {}; do break; done", "case a in a) {};; esac"),
    *(
        "[[ -n $({}) ]] && ls",
        "f() {{ {}; }}; f",
        "cat <<E\n$({})\nE",
        "ls | while read -r x; do {}; done",
        "echo $(({}))",
    ),
]


def put_together(around: str, pieces: list[str], joints: list[str]) -> str:
    """Return one line of these pieces."""
    inner = "".join(part for pair in zip(pieces, [*joints, ""], strict=False) for part in pair)
    return around.format(inner)


whole_lines = st.builds(
    put_together,
    st.sampled_from(AROUND),
    st.lists(piece, min_size=1, max_size=3),
    st.lists(st.sampled_from(JOINTS), min_size=2, max_size=2),
)


@needs_strace
@law(20)
@given(lines=st.lists(whole_lines, min_size=5, max_size=40))
@example(lines=["ls > /dev/null #\ntouch out", "echo $(cat a.txt; touch out)", "cat <<E\n$(touch out)\nE", "PATH=. ls"])
def test_strace_sees_no_line_that_only_reads_write_or_connect(lines: list[str]) -> None:
    free = [line for line in lines if only_reads(line) and "sleep" not in line and "tail" not in line]
    assert seen_doing(free) == []


def test_many_of_the_lines_that_are_put_together_only_read() -> None:
    tried = [
        put_together(around, [f"{before}{each}{after}"], [])
        for around in AROUND
        for before in BEFORE
        for after in BEHIND
        for each in ("cat a.txt", "git log", "find . -name x")
    ]
    free = sum(only_reads(line) for line in tried)
    assert 0.1 < free / len(tried) < 0.9, "a law about what only reads needs lines that do, and lines that do not"
