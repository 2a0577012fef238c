"""Lines put together at random over a hostile folder: quoted and globbed words, links outward, programs on stdin.

The judge of commands says which of them run unasked; `traced_lines.py` says what they then do. Options come from the
table of programs, so that every program and every option is tried; the rest is made to look harmless and lead out.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import hostile_repositories
from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.approval.decision import Allow, Policy, decide
from holdfast.tools.known_programs.readers import GIT_READERS, READERS, VERSIONS, Reader
from holdfast.tools.tool import Plan, ToolContext, ToolOutput
from holdfast.tools.workspace.command_files import disk_surroundings


def build(folder: Path, user: int) -> None:
    """Add to a hostile folder of `walls` what lines like these may stumble over."""
    ws = folder / "ws"
    for name, text in {
        "a b.txt": "one blank\n",
        "$(touch PWNED).txt": "one\n",
        "*.txt": "one star\n",
        "-n.txt": "one\n",
        "{a,b}.md": "brace\n",
        "~": "tilde\n",
        "glob": "*\nlink\nsub/out/plain.txt\n",
        "rows.csv": "1,2\n3,4\n",
    }.items():
        (ws / name).write_text(text)
    for name in ("ls", "cat", "grep", "git", "sh", "git-status"):
        (ws / name).write_text(hostile_repositories.EVIL)
        (ws / name).chmod(0o755)
    (ws / "deep/er").mkdir(parents=True, exist_ok=True)
    (ws / "deep/er/x.txt").write_text("one deep\n")
    (ws / "deep/up").symlink_to("..")
    (ws / "deep/away").symlink_to("../../outside/d")
    (ws / "deep/loop").symlink_to("loop")
    (ws / "deep/.gitignore").symlink_to("../../outside/plain.txt")
    (ws / "abs").symlink_to(folder / "outside")
    (ws / "etc").symlink_to("/etc")
    (folder / "outside/d/inner.txt").write_text("TOPSECRET\n")
    hostile_repositories.build(folder)
    subprocess.run(["chown", "-hR", f"{user}:{user}", str(folder)], check=True)


# --- the grammar ------------------------------------------------------------------------------------------------------

INSIDE = ["a.txt", "b.txt", "sub/c.txt", "j.json", "sub", ".", "./a.txt", "deep/er/x.txt", "rows.csv", "glob", "a*.txt"]
ODD = [
    "'a b.txt'",
    "a\\ b.txt",
    '"*.txt"',
    "./-n.txt",
    "'{a,b}.md'",
    "./~",
    "'$(touch PWNED).txt'",
    "??.txt",
    "-",
    "'-'",
]
OUTWARD = [
    *("link", "data", "data/..", "data/../plain.txt", "sub/out", "sub/out/plain.txt", "sub/out/..", "list", "list0"),
    *("../outside/plain.txt", "$B/outside/plain.txt", "$B/outside", "..", "../ws/a.txt", "sub/../data/../plain.txt"),
    *("deep/up/up/a.txt", "deep/away/inner.txt", "deep/up/data/../plain.txt", "deep/loop", "abs/plain.txt", "etc"),
    *("etc/hostname", "/etc/hostname", "/etc/hostnam?", "/proc/self/cwd/../outside/plain.txt", "/proc/1/environ"),
    *("evil.py", "evil.sh", "*", "sub/*", "../*", "*/*", "l*", "s?b/*/*", ".env", ".e*", ".[e]nv", "~/.ssh/id_rsa"),
    *(
        "~",
        "~root",
        "d*/plain.txt",
        "d*/../a.txt",
        "deep/*/..",
        "deep/*/*.txt",
        "**/*.txt",
        "{a,b}.txt",
        "{link,a.txt}",
    ),
    *("/dev/stdin", "/dev/fd/0", "/dev/tcp/127.0.0.1/9", "@list", "--files0-from=list0", "sub/o?t/plain.txt", "-o"),
    *("repos/*/f.txt", "repos/gitlink/.git/HEAD", "repos/*/.git/*", "deep/.gitignore", "TOP", "one", "HEAD", "x:y"),
]
QUOTES = [
    "{}",
    "{}",
    "{}",
    "{}",
    "{}",
    "{}",
    "{}",
    "{}",
    "{}",
    '"{}"',
    "'{}'",
    '"{}"*',
    "{}?",
    "./{}",
    "\\{}",
    "{}/../a.txt",
    "$(echo {})",
    "[{}]",
    "{}''",
]
INPUTS = [
    "< {}",
    "<<< {}",
    "<<E\n{}\nE",
    "0< {}",
    "<> {}",
    "< <(cat {})",
    "2>&1 < {}",
    "3< {}",
    "> {}",
    ">> {}",
    "&> {}",
]
JOINTS = [" | ", "; ", " && ", " || ", "\n", " |& ", " & "]
BEFORE = [
    "cd sub && ",
    "cd data && ",
    "cd data; cd ..; ",
    "cd sub/out/.. && ",
    "cd -P data/.. && ",
    "cd deep/up && ",
    "cd deep/up/data; ",
    "pushd sub; ",
    "cd abs; cd -; ",
    "cd ./sub/../sub && ",
    "x=link; ",
    "x='l*'; ",
    "IFS=/; ",
]
FORMS = [
    'for f in {}; do {} "$f"; done',
    "for f in {}; do {} $f; done",
    'cat {} | while read -r f; do {} "$f"; done',
    "while read -r f; do {1} $f; done < {0}",
    "cat {} | xargs {}",
    "xargs {1} < {0}",
    "xargs -a {} {}",
    "find {} -exec {} {{}} +",
    "find {} -type f -exec {} {{}} \\;",
    "find {} -name '*.txt' -exec {} -- {{}} /dev/null \\;",
    "find {} -type l -exec {} {{}} +",
    "[[ -f {} ]] && {} a.txt",
    "[ -n {} ] && {} a.txt",
    "if test -e {}; then {} a.txt; fi",
    "({1} {0})",
    "{{ {1} {0}; }}",
    "echo $({1} {0})",
    "{1} <({1} {0})",
    "{1} $(cat {0})",
    "f() {{ {1} {0}; }}; f",
    "case {0} in a*) {1} a.txt;; esac",
    "x={0}; {1} $x",
    'x={0}; {1} "$x"',
    "x=$(cat {0}); {1} $x",
    "((1 + 1)) && {1} {0}",
    "until {1} {0}; do break; done",
    "printf '%s\\n' {0} | {1}",
    "read x < {0}; {1} $x",
]
STDIN = ["python3", "python", "node", "perl", "bash", "ruby", "php", "sed", "jq", "git", "make", "awk", "pip", "gcc"]
SCRIPTS = ["1p", "-n 1p", "-n '1,2p'", "s/o/0/", "'w PWNED'", "e", "'1e touch PWNED'", "r link", "'R link'", "y/o/0/"]
AWK = ["1", "'{print}'", "'{print $1}'", "'{print > \"PWNED\"}'", "'BEGIN{system(\"touch PWNED\")}'", "'END{print NR}'"]
FIND = [
    "-type f",
    "-name '*.txt'",
    "-maxdepth 1",
    "-L",
    "-follow",
    "-newer link",
    "-delete",
    "-fprint PWNED",
    "-ls",
    "-print0",
]
VALUES = ["1", "2", "x", "one", "a.txt", "link", "%n", "%s", "-1", ",", "+1", "TOP", "size", "never", "c", "../outside"]
REVISIONS = [
    "HEAD",
    "main",
    "HEAD~1",
    "--",
    "f.txt",
    "HEAD:f.txt",
    "main..HEAD",
    "--all",
    "../../link",
    ":f.txt",
    "HEAD:",
]
_INSTALLED = [row for row in READERS for name in row.names if shutil.which(name)]
_BUILTIN = ["echo", "true", "type", "pwd", "printf", "read x", "test -f", "[ -e", "command -v", "which", "basename"]


class Lines:
    """A source of lines, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, choices: list[str]) -> str:
        return self.random.choice(choices)

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def word(self) -> str:
        """Return a name as a line may write it: most lead nowhere, some are bent."""
        name = self.one(INSIDE if self.chance(0.55) else OUTWARD if self.chance(0.75) else ODD)
        return self.one(QUOTES).format(name) if self.chance(0.45) else name

    def options(self, row: Reader) -> Iterator[str]:
        """Yield options of a row, written in every way that programs know, now and then one that is in no row."""
        known = row.options
        while known is not None and self.chance(0.5):
            letters = self.random.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHILMNPRSTUX0Z")
            if known.flags and self.chance(0.8):
                letters = "".join(self.random.choice(known.flags) for _ in range(self.random.choice((1, 1, 2, 3))))
            yield f"-{letters}"
            if known.values and self.chance(0.3):
                yield f"-{self.random.choice(known.values)}{self.one(['', ' '])}{self.one(VALUES)}"
            if known.long and self.chance(0.3):
                name = self.one(sorted(known.long))
                yield f"--{name if self.chance(0.8) else name[: self.random.randint(2, len(name))]}"
            if known.long_values and self.chance(0.2):
                yield f"--{self.one(sorted(known.long_values))}{self.one(['=', ' '])}{self.one(VALUES)}"

    def reader(self) -> str:
        """Return a program of the table with some of its options."""
        row = self.random.choice(_INSTALLED)
        name = self.one([each for each in row.names if shutil.which(each)])
        pattern = [self.one(["one", "TOP", "''", ".", "-e one", "-e TOP", "--", "'[a-z]*'", "-f list"])]
        words = [name, *self.options(row), *(pattern if row.operands == "pattern" and self.chance(0.9) else [])]
        return " ".join(words)

    def git(self) -> str:
        """Return a command of git in one of the repositories, or in a folder below none of them."""
        row = self.random.choice(GIT_READERS)
        where = (
            f"repos/{self.one(list(hostile_repositories.REPOSITORIES))}"
            if self.chance(0.8)
            else self.one(["data", "sub/out", "abs/repo", "."])
        )
        options = " ".join(self.options(Reader(names=(), options=row.options)))
        words = [self.one(row.names.split()), self.one(row.words.split()) if row.words else "", options]
        words += [self.one(REVISIONS) if self.chance(0.6) else "", self.word() if self.chance(0.15) else ""]
        words += [
            self.one(["--ext-diff", "--textconv", "-p", "--submodule=diff", "--no-index"]) if self.chance(0.1) else ""
        ]
        line = " ".join(filter(None, words))
        steps = [
            f"cd {where} && git {line}",
            f"git -C {where} {line}",
            f"cd {where}; git {line}",
            f"cd repos/plain && git -C ../../{where} {line}",
        ]
        return self.one(steps)

    def command(self) -> str:
        """Return one simple command with its operands."""
        kind = self.random.random()
        words = [self.word() for _ in range(self.random.choice((0, 1, 1, 1, 2, 3)))]
        if kind < 0.5:
            head = self.reader()
        elif kind < 0.62:
            return self.git()
        elif kind < 0.68:
            head = f"sed {self.one(SCRIPTS)}"
        elif kind < 0.74:
            head = f"awk {self.one(AWK)}"
        elif kind < 0.82:
            return " ".join(["find", *words[:1], *(self.one(FIND) for _ in range(self.random.choice((0, 1, 2))))])
        elif kind < 0.88:
            name = self.one([*STDIN, *(each for each in VERSIONS if shutil.which(each))])
            option = self.one(["--version", "-version", "-V", "-v", "-", "-vv", ""])
            return f"{name} {option} {self.one(INPUTS[:6]).format(self.word())}"
        elif kind < 0.93:
            head = self.one(_BUILTIN)
        else:
            head = self.one(
                ["date -r", "date -f", "tar tf", "unzip -l", "xxd", "ps ax", "ps axe", "hostname", "env", "strings"]
            )
        return " ".join([head, *words])

    def line(self) -> str:
        """Return one line."""
        text = self.command()
        if self.chance(0.25):
            text = self.one(FORMS).format(self.word(), self.reader() if self.chance(0.8) else self.command(), word="")
        if self.chance(0.15):
            text = f"{text} {self.one(INPUTS).format(self.word())}"
        if self.chance(0.25):
            text = f"{text}{self.one(JOINTS)}{self.command()}"
        return f"{self.one(BEFORE)}{text}" if self.chance(0.3) else text


async def _never(_: ToolContext) -> ToolOutput:
    raise AssertionError("deciding must not run")


def is_free(workspace: Path, line: str) -> bool:
    """Return whether a line runs unasked in that workspace, with a wall or without one."""
    parts = command_parts(line, root=str(workspace), folder=str(workspace), around=disk_surroundings())
    return decide(Plan(effect="execute", title="run", run=_never, command=line, line=parts), Policy("ask")) == Allow()


def free_lines(folder: Path, many: int, *, seed: int) -> list[str]:
    """Return so many different lines that run unasked in the workspace of that folder."""
    source, found = Lines(seed), dict[str, None]()
    while len(found) < many:
        line = source.line().replace("$B", str(folder))
        if line not in found and is_free(folder / "ws", line):
            found[line] = None
    return list(found)
