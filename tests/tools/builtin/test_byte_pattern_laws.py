"""The law of translated expressions: grep and ripgrep find at least each line that `regex` finds."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
import regex

from holdfast.tools.builtin.byte_pattern import LONGEST_TRANSLATED, byte_pattern, for_ripgrep, is_quick
from skips import needs
from tiers import SEED, TIER

PATTERNS = {"quick": 160, "wider": 400, "deep": 2_000}[TIER]

PIECES = [
    "a",
    "b",
    "k",
    "s",
    "i",
    "é",
    "ß",
    "K",
    "\u017f",
    "foo",
    "_",
    "1",
    " ",
    "-",
    "x&y",
    "/",
    "#",
    "=",
    ",",
    "<",
    "~",
]
ESCAPES = [r"\d", r"\w", r"\W", r"\s", r"\S", r"\D", r"\.", r"\(", r"\[", r"\]", r"\}", r"\{", r"\\", r"\-", r"\x41"]
ESCAPES.extend([r"\t", r"\p{L}", r"\u00e9", r"\*", r"\$", r"\^", r"\|", r"\/", r"\"", "."])
SETS = [
    "[ab]",
    "[^a]",
    "[a-z]",
    r"[\w-]",
    "[^é]",
    r"[\]x]",
    "[éa]",
    r"[\d.]",
    "[k-s]",
    "[$^.]",
    r"[^\s]",
    "[()]",
    "[A-Z]",
]
SETS.extend(["[-a]", "[a-]", "[+*?]", "[{}]", r"[\\]", "[\"']", "[K]"])
EDGES = [r"\b", r"\B", "^", "$", r"\A", r"\Z"]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{1,}", "*?", "+?", "??", "{2,3}?", "++", "*+", "{25}", "{1,40}"]
GROUPS = ["(", "(?:", "(?P<n>", "(?<m>", "(?>"]
NOT_READ = [
    r"(?=a)",
    r"(?<!a)b",
    r"(a)\1",
    "[[:alpha:]]",
    "[a&&b]",
    "[a--b]",
    "(?x)a b",
    "(?s:.)",
    "(?-i:a)",
    "a{e<=1}",
]
NOT_READ.extend([r"\X", r"\R", r"\Ka", "(?r)a", r"\N{DIGIT ONE}", "a\nb", "\ufffd", "[]x]", r"[[a]b]"])


def pattern_of(draw: random.Random, depth: int = 0) -> str:
    """Return an expression of these pieces, valid or not."""
    parts: list[str] = []
    for _ in range(draw.randint(1, 4)):
        kind = draw.random()
        if kind < 0.15 and depth < 3:
            part = f"{draw.choice(GROUPS)}{pattern_of(draw, depth + 1)})"
        elif kind < 0.25:
            part = draw.choice(EDGES)
        else:
            part = draw.choice(draw.choice((PIECES, ESCAPES, SETS)))
        parts.append(part + (draw.choice(REPEATS) if draw.random() < 0.25 else ""))
        if draw.random() < 0.08:
            parts.append("|")
    return "".join(parts)


def lines_of(draw: random.Random) -> list[bytes]:
    """Return lines of every kind: letters, other letters, bytes that are no UTF-8, ends with a CR, a NUL."""
    usual = [
        "a",
        "b",
        "k",
        "s",
        "i",
        "K",
        "S",
        "é",
        "É",
        "ß",
        "\u017f",
        "\u212a",
        "\u0130",
        "\u0661",
        "foo",
        "_",
        "1",
        " ",
    ]
    usual += [
        "-",
        "x&y",
        "/",
        "A",
        "\\",
        ".",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "*",
        "$",
        "^",
        "|",
        "\t",
        '"',
        "'",
        "\U0001f600",
    ]
    usual += ["#", "=", ",", "<", "~", "+", "?"]
    odd = [b"\xff", b"\xe9", b"\xf0\x9f", b"\x00", b"\r", b"\xa0", b"\xc3"]
    found = [b"", b"\r", b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]
    for _ in range(400):
        line = b"".join(
            draw.choice(odd) if draw.random() < 0.1 else draw.choice(usual).encode() for _ in range(draw.randint(1, 6))
        )
        found.append(line + (b"\r" if draw.random() < 0.1 else b""))
    return found


def found_by(words: list[str], file: Path) -> set[int]:
    done = subprocess.run([*words, str(file)], capture_output=True, check=False, env={"LC_ALL": "C"})
    assert done.returncode in (0, 1), (words, done.stderr)
    return {int(line.partition(b":")[0]) for line in done.stdout.split(b"\n") if line}


@needs("ripgrep")
@pytest.mark.deep
def test_other_programs_find_each_line_that_regex_finds(tmp_path: Path) -> None:
    draw = random.Random(SEED)
    lines = lines_of(draw)
    file = tmp_path / "lines"
    file.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines) + b"\n")
    texts = [line.decode("utf-8", "replace").removesuffix("\r") for line in lines]
    grep, rg = shutil.which("grep"), shutil.which("rg")
    assert grep
    assert rg
    tried = matched = 0
    while tried < PATTERNS:
        pattern, ignore_case = pattern_of(draw), draw.random() < 0.4
        try:
            compiled = regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
        except regex.error:
            continue
        translated = byte_pattern(pattern, ignore_case=ignore_case)
        if translated is None:
            continue
        tried += 1
        expected = {number for number, text in enumerate(texts, 1) if compiled.search(text)}
        matched += bool(expected)
        by_grep = found_by([grep, "-anE", "-e", translated], file)
        assert expected <= by_grep, (pattern, ignore_case, translated)
        by_rg = found_by([rg, "--no-config", "-n", "--text", "--no-mmap", "-e", for_ripgrep(translated)], file)
        assert expected <= by_rg, (pattern, ignore_case, translated)
    assert matched > PATTERNS // 3, "most of them match something"


@pytest.mark.parametrize("pattern", NOT_READ)
def test_what_the_table_does_not_have_is_not_translated(pattern: str) -> None:
    assert byte_pattern(pattern, ignore_case=False) is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("needle", "needle"),
        (r"\bfoo\b", r"\bfoo\b"),
        (r"foo\.bar", r"foo\.bar"),
        ("a{2,300}", "a{2,}"),
        ("a.*b", "a.*b"),
        ("end$", "end\r?$"),
        ("x" * (LONGEST_TRANSLATED + 1), None),
    ],
)
def test_usual_expressions_stay_exact(pattern: str, expected: str | None) -> None:
    assert byte_pattern(pattern, ignore_case=False) == expected


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("needle", True),
        (r"def \w+\(", True),
        ("import|export", True),
        ("(needle)", True),
        ("(a|aa)+$", False),
        ("(aa)*b", False),
        ("a*a*b", False),
        ("(a|b)(a|b)", False),
        (r"(?<=a)b", False),
    ],
)
def test_only_a_pattern_with_one_repeat_of_one_character_is_quick(pattern: str, *, expected: bool) -> None:
    assert is_quick(pattern) == expected
