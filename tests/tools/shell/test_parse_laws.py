"""The laws of reading a shell command, with bash as the judge: what it refuses, what it hands over, what it runs."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from shell_cases import cases

from holdfast.tools.shell.command_line import SimpleCommand
from holdfast.tools.shell.parse import LONGEST_COMMAND, parse_command
from laws import law
from tiers import DEEP, SEED, spread

ENVIRON = {"PATH": "/nowhere", "LC_ALL": "C.UTF-8", "HOME": "/nowhere", "v": "a  b", "w": "*"}


def bash(
    *arguments: str, cwd: Path | str = "/", more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["/bin/bash", "--norc", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**ENVIRON, **(more or {})},
        cwd=cwd,
        check=False,
        timeout=60,
    )


# --- what bash hands over --------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "a",
        "B7",
        "-x",
        "é",
        "日",
        "'",
        '"',
        "\\",
        "\\'",
        '\\"',
        "\\a",
        "\\\n",
        "$'",
        "$'\\n'",
        "$'\\x41\\u00e9'",
        "'b c'",
        '"d e"',
        '"$v"',
        "$v",
        "${v}",
        "${v:-z}",
        "$(echo x)",
        "`echo y`",
        "$",
        "$$",
        "*",
        "?",
        "[a]",
        "[",
        "]",
        "{a,b}",
        "{",
        "}",
        "{}",
        "{1..3}",
        "~",
        "~/x",
        "=",
        ":",
        ":~",
        "#",
        "!",
        "^",
        "%",
        "@",
        "+",
        ",",
        "..",
        "/",
        "\\ ",
        "\\\\",
        "''",
        '""',
        '"a\\\nb"',
        '"\\$v"',
        '"\\`"',
        '"!"',
        "'\\'",
        "$'\\''",
        "$'\\101\\e'",
        '"$"',
        "\\$v",
        "$((1+1))",
    ]
)
raw_words = st.lists(PIECES, min_size=1, max_size=5).map("".join)


def handed_over(words: Sequence[str]) -> list[list[str]]:
    """Return the arguments that bash makes of each word, each in a shell with no files."""
    script = "".join(f'eval {_quoted(f"set -- {word}")}; printf \'%s\\0\' "$#" "$@"\n' for word in words)
    out = bash("-c", script, cwd="/proc/self/fd").stdout.decode().split("\0")
    found: list[list[str]] = []
    at = 0
    for _ in words:
        count = int(out[at])
        found.append(out[at + 1 : at + 1 + count])
        at += 1 + count
    return found


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@law(150)
@given(raws=st.lists(raw_words, min_size=1, max_size=30))
@example(raws=["~", "a=~", "a:~/x", "{}", "HEAD@{1}", "a{b,c}", "$'\\x41'", "a\\\nb", '"a\\\nb"', "[", "$", '"$"'])
def test_a_fixed_word_is_what_bash_hands_over(raws: list[str]) -> None:
    read = [(raw, parse_command(f"e {raw}")) for raw in raws]
    clear = [(raw, line.commands[0].words[1:]) for raw, line in read if not line.unclear and len(line.commands) == 1]
    fixed = [(raw, words) for raw, words in clear if words and all(word.fixed for word in words)]
    if fixed:
        given_over = handed_over([raw for raw, _ in fixed])
        assert [(raw, [word.text for word in words]) for raw, words in fixed] == [
            (raw, over) for (raw, _), over in zip(fixed, given_over, strict=True)
        ]


# --- what bash runs --------------------------------------------------------------------------------------------------

RECORD = """command_not_found_handle() { { printf '%s\\0' "$@"; echo; } >> "$LOG/$BASHPID"; return 0; }\n"""

simple = st.sampled_from(
    [
        "p1",
        "p2 a",
        "p3 'x y'",
        'p4 "a b" c',
        "p5 $v",
        'p6 "$v"',
        "p7 $(q1 s)",
        "p8 `q2`",
        "X=1 p9",
        "! p10",
        "time p11",
        "p12 2>&1",
        "p13 >/dev/null z",
        "</dev/null p14 y",
        "[ a = b ]",
        "[[ a == a* ]]",
        "(p15)",
        "{ p16; }",
        "p17 <(q3)",
        "p18 {a,b}",
        "p19 # no; p20",
        "p21 a#b",
        "p22 \\\n b",
        "p23 <<E\nt $(q4) t\nE",
        "p24 <<'E'\n$(q5)\nE",
        "Y=$(q6)",
        "p25 <<<w",
        "if p26; then p27; else p28; fi",
        "for i in 1 2; do p29 $i; done",
        "case a in a|b) p30;; *) p31;; esac",
        'p32 "$(q7 "x")"',
        "p33 ${Z:-$(q8)}",
        "p34 $((1+2))",
        "p35 ';' '&&'",
        "p36 \\; r",
        'p37 "a;b"',
        "{p38,t}",
        "p\\39",
        "while p40; do break; done",
        "p41 'a\nb'",
        "then",
        "}",
        "p42 `",
        "$v",
        "p43 \\\n# c",
        "p44 <<E |p45\nt\nE",
        "'p 46'",
    ]
)
joints = st.sampled_from(
    ["; ", " && ", " || ", " | ", "\n", " & ", ";", "|", "&&", " |& ", "\n\n", " # c\n", " \\\n", " "]
)


@st.composite
def lines(draw: st.DrawFn) -> str:
    parts = [draw(simple)]
    for _ in range(draw(st.integers(0, 3))):
        parts += [draw(joints), draw(simple)]
    return "".join(parts)


def fits(argv: list[str], command: SimpleCommand) -> bool:
    """Return whether a command that was run may be one that was found."""
    if all(word.fixed for word in command.words):
        return argv == [word.text for word in command.words]
    fixed = [word.text for word in command.words if word.fixed]
    return all(text in argv for text in fixed) and (not command.words[0].fixed or argv[0] == command.words[0].text)


@law(200)
@given(line=lines())
@example(line="time ! p1")
@example(line="p1 <<E\n`q1`\nE")
@example(line="[ a && p1 ]")
@example(line="p1 >/dev/null p2 p3")
@example(line="((p1); p2)")
def test_what_bash_runs_is_found(line: str) -> None:
    read = parse_command(line)
    if read.unclear:
        return
    assert bash("-n", "-c", line).returncode == 0, "bash does not accept it, and it was not called unclear"
    for record in ran(line):
        assert any(fits(record, command) for command in read.commands), f"bash ran {record}, which was not found"


def ran(line: str) -> list[list[str]]:
    """Return each program that bash starts for a line, with its arguments, in a folder with nothing in it."""
    with TemporaryDirectory() as folder:
        (log := Path(folder) / "log").mkdir()
        (empty := Path(folder) / "empty").mkdir()
        bash("-c", f"{RECORD}{line}\nwait", cwd=empty, more={"LOG": str(log)})
        records = [record for each in log.iterdir() for record in each.read_text("utf-8").split("\0\n")[:-1]]
        return [record.split("\0") for record in records]


@pytest.mark.deep
def test_what_bash_refuses_is_unclear() -> None:
    shown = [(command,) for _, command in cases("attacks.tsv") if "\0" not in command]
    picked = [shown[at][0] for at in (range(len(shown)) if DEEP else spread(shown, 60, seed=SEED))]
    wrong = [each for each in picked if not parse_command(each).unclear and bash("-n", "-c", each).returncode != 0]
    assert wrong == []


# --- bounds ----------------------------------------------------------------------------------------------------------


@law(200)
@given(text=st.text() | st.text(alphabet="ab '\"\\$(){}[]<>|&;\n`#=!*-1"))
def test_any_text_is_read(text: str) -> None:
    line = parse_command(text)
    assert all(word.raw in text for command in line.commands for word in command.words if word.raw not in {"((", "cd"})


@pytest.mark.parametrize(
    "text",
    [
        "a" * (LONGEST_COMMAND + 1),
        "echo " + "${x:-" * 2_000 + "}" * 2_000,
        "( " * 500 + "ls" + " )" * 500,
        "$(" * 300 + ")" * 300,
        "cat <<E\n" + "x `\n" * 9_000,
        "\ud800",
    ],
)
def test_what_is_too_long_or_too_deep_is_unclear(text: str) -> None:
    assert parse_command(text).unclear


@pytest.mark.parametrize(
    ("text", "folders"),
    [
        ("cd a && ls", ["a"]),
        ("cd a && cd b && ls", ["a b"]),
        ("cd a; ls", ["", "a"]),
        ("cd a || ls", ["", "a"]),
        ("(cd a && ls)", ["a"]),
        ("(cd a); ls", [""]),
        ("cd a | ls", [""]),
        ("cd a && ls | ls", ["a"]),
        ("cd && ls", ["cd"]),
        ("for f in 1 2; do cd a; ls; done", ["cd"]),
        ("if cd a; then ls; fi", ["", "a"]),
        ("pushd a && ls", ["cd"]),
    ],
)
def test_where_a_command_runs_is_known(text: str, folders: list[str]) -> None:
    line = parse_command(text)
    assert not line.unclear
    assert [" ".join(word.raw for word in folder) for folder in line.commands[-1].folders] == folders


def test_what_ran_is_recorded() -> None:
    assert sorted(ran("p1 'a b' $(p2) && p3")) == [["p1", "a b"], ["p2"], ["p3"]]
