"""The laws of `.gitignore` rules: they leave out what pathspec leaves out, and no name makes them slow."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from holdfast.system.gitignore import gitignore
from laws import law
from polling import HANGS

pieces = st.one_of(
    st.sampled_from(["**", "*", "a", "*a*b*", "?*"]), st.text(st.sampled_from("ab*?[!^]\\ "), max_size=6)
)
lines = st.tuples(
    st.sampled_from(["", "/", "!", "**/"]), st.lists(pieces, min_size=1, max_size=5), st.sampled_from(["", "/", "/**"])
).map(lambda each: each[0] + "/".join(each[1]) + each[2])
paths = st.lists(st.text(st.sampled_from("ab"), min_size=1, max_size=5), min_size=1, max_size=6).map("/".join)


def readable(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")  # of an expression that pathspec writes
@law(200)
@given(written=st.lists(lines, min_size=1, max_size=4), path=paths, folder=st.booleans())
@example(written=["a/**/b/**/c"], path="a/bx/b/x/c", folder=False)
@example(written=["**/b*/**/c/**/d"], path="b/c/bx/y/c/z/d", folder=True)
@example(written=["*a?b*a"], path="ab/aabba", folder=False)
@example(written=["a**b**"], path="x/acbc", folder=False)
@example(written=["[^/]*[^/]*b"], path="x/b", folder=False)
def test_they_leave_out_what_pathspec_leaves_out(written: list[str], path: str, *, folder: bool) -> None:
    name = f"{path}/" if folder else path
    expected = GitIgnoreSpec.from_lines([line for line in written if readable(line)]).check_file(name).include
    assert gitignore("\n".join(written)).check_file(name).include == expected


SLOW = [
    ("*a*a*a*a*a*a*a*a*a*a*a*b", "a" * 255),
    ("*a?*a?*a?*a?*a?*a?*a?*a?*a?*b", "a" * 255),
    ("*" * 60 + "b", "a" * 255),
    ("*/*a*a*a*a*a*a*a*/*a*a*a*a*a*a*b/c", "/".join(["a" * 255] * 3)),
    ("a/**/" * 20 + "b", "a/" * 1000 + "c"),
    ("**/a/" * 20 + "b", "a/" * 1000 + "c"),
    ("**/a*a*/" * 20 + "b", "aaaa/" * 500 + "c"),
    ("**/*a*a*a*a*b", "/".join(["a" * 255] * 10)),
]


@pytest.mark.parametrize(("line", "name"), SLOW, ids=[line[:20] for line, _ in SLOW])
def test_no_name_makes_them_slow(line: str, name: str) -> None:
    # In a separate process: what does not end lets no other thread run, not the one that would notice either.
    program = (
        "import sys; from holdfast.system.gitignore import gitignore;"
        "print(gitignore(sys.argv[1]).check_file(sys.argv[2]).include)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, line, name], capture_output=True, text=True, timeout=HANGS, check=True
    )
    assert run.stdout == "None\n"


def test_a_line_that_no_path_could_need_is_skipped() -> None:
    since = time.process_time()
    rules = gitignore(f"{'a' * 8_193}\n{'b' * 8_192}\n{'x*' * 200_000}\nc.txt\n")
    assert [rules.match_file(name) for name in ("a" * 8_193, "b" * 8_192, "xx", "c.txt")] == [False, True, False, True]
    assert time.process_time() - since < 1
