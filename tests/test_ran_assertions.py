"""A test that passed without having looked at anything fails, in this process and in workers; and no other one does."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ran_assertions import Marks, asserting, empty_loops, never_ran

HERE = Path(__file__).parent
HEAD = "import pytest\nfrom hypothesis import example, given, strategies as st\nEMPTY = []\nFULL = [1, 2]\n"
LOOKS_AT_NOTHING = {
    "a loop": "def test_some():\n    for each in EMPTY:\n        assert each",
    "a loop in a loop": "def test_some():\n    for outer in FULL:\n        for each in EMPTY:\n            assert each",
    "a condition in a loop": "def test_some():\n    for each in FULL:\n        if each > 2:\n            assert each",
    "a loop beside an assertion": """
def test_some():
    for each in EMPTY:
        assert each
    assert EMPTY == []
""",
    "a loop that awaits": """
async def none():
    for each in EMPTY:
        yield each
async def test_some():
    async for each in none():
        assert each
""",
    "a loop that may be empty in one case": """
def test_some():
    for each in EMPTY:  # may be empty: here
        assert each
""",
    "all": "def test_some():\n    assert all(each > 0 for each in EMPTY)",
    "all of what is chosen": "def test_some():\n    assert all(each > 3 for each in FULL if each > 2)",
    "not any": "def test_some():\n    assert not any(each > 3 for each in EMPTY)",
    "a list of faults": "def test_some():\n    assert [each for each in EMPTY if each > 3] == []",
    "a set of faults": "def test_some():\n    assert {each for each in EMPTY if each > 3} == set()",
    "no list of faults": "def test_some():\n    assert not [each for each in EMPTY if each > 3]",
    "the argument of an expectation": """
def expect_none(found):
    assert list(found) == []
def test_some():
    expect_none(each for each in EMPTY if each > 3)
""",
    "a loop that expects": """
def expect_positive(each):
    assert each > 0
def test_some():
    for each in EMPTY:
        expect_positive(each)
""",
    "a loop in a function": """
def look(found):
    for each in found:
        assert each
def test_some():
    look(EMPTY)
""",
    "a loop that expects an error": """
def test_some():
    for each in EMPTY:
        with pytest.raises(ValueError):
            int(each)
""",
    "one case of two": """
@pytest.mark.parametrize("found", [FULL, EMPTY])
def test_some(found):
    for each in found:
        assert each
""",
    "a law": """
@given(st.just([]))
def test_some(found):
    for each in found:
        assert each
""",
    "a branch": "def test_some():\n    if EMPTY:\n        assert EMPTY == [1]",
    "a branch in all cases": """
@pytest.mark.parametrize("number", FULL)
def test_some(number):
    if number > 2:
        assert number == 3
    assert number
""",
    "what follows a return": "def test_some():\n    if not EMPTY:\n        return\n    assert EMPTY == [1]",
    "an exception that never came": """
def test_some():
    try:
        found = int("1")
    except ValueError as error:
        assert "x" in str(error)
""",
    "a branch of a function": """
def look(number):
    if number > 2:
        assert number == 3
    return number
def test_some():
    assert look(1) == 1
""",
}
LOOKS = {
    "a loop": "def test_some():\n    for each in FULL:\n        assert each",
    "some of it": "def test_some():\n    for each in FULL:\n        if each > 1:\n            assert each",
    "a loop that says so": """
def test_some():
    for each in EMPTY:
        assert each  # may be empty: on this system
""",
    "a case that says so": """
@pytest.mark.parametrize("found", [EMPTY, FULL])
def test_some(found):
    for each in found:  # may be empty: in one case
        assert each
    assert [each for each in found if each > 2] == []  # may be empty: in one case
""",
    "a wait": "def test_some():\n    while EMPTY:\n        assert EMPTY.pop()",
    "what ran at the import": """
def made():
    for each in FULL:
        assert each
    return FULL
MADE = made()
def test_some():
    assert MADE
""",
    "what a fixture asserts at its end": """
@pytest.fixture
def made():
    yield FULL
    assert FULL
def test_some(made):
    assert made
""",
    "a branch that says so": "def test_some():\n    if EMPTY:\n        assert EMPTY == [1]  # may be empty: elsewhere",
    "any": "def test_some():\n    assert any(each > 1 for each in FULL)",
    "all": "def test_some():\n    assert all(each > 0 for each in FULL)",
    "a list of faults": "def test_some():\n    assert [each for each in FULL if each > 3] == []",
    "an empty list": "def test_some():\n    assert [] == EMPTY",
    "an answer that is a list": """
def answer():
    return [each for each in EMPTY]
def test_some():
    assert answer() == []
""",
    "a loop that does": "def test_some():\n    for each in EMPTY:\n        print(each)\n    assert EMPTY == []",
    "a branch of one case": """
@pytest.mark.parametrize("number", FULL)
def test_some(number):
    if number > 1:
        assert number == 2
    assert number
""",
    "a law with one good example": """
@given(st.just([]))
@example(FULL)
def test_some(found):
    for each in found:
        assert each
""",
    "a branch beside a case that was skipped": """
@pytest.mark.parametrize("number", FULL)
def test_some(number):
    if number == 2:
        pytest.skip("not here")
    if number > 1:
        assert number == 2
    assert number
""",
    "a method of a machine": """
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
class Machine(RuleBasedStateMachine):
    seen = 0
    @rule()
    def look(self):
        self.seen += 1
        if self.seen > 1:
            assert self.seen < 1000
TestMachine = Machine.TestCase
""",
}


def run(folder: Path, modules: dict[str, str], *words: str) -> tuple[int, str]:
    """Return how pytest ends over these modules, with the plugin alone, and what it prints."""
    for name, text in modules.items():
        (folder / f"test_{name}.py").write_text(HEAD + text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
    plugins = ["-p", "forked_workers", "-p", "ran_assertions"]
    tier = ("HOLDFAST_TIER", "HOLDFAST_SEED")  # a deeper tier looks at laws in another way
    environ = {**{key: value for key, value in os.environ.items() if key not in tier}, "PYTHONPATH": str(HERE)}
    done = subprocess.run(
        [*command, *plugins, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def named(texts: dict[str, str]) -> dict[str, str]:
    return {name.replace(" ", "_"): text for name, text in texts.items()}


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_looks_at_nothing_fails(tmp_path: Path, workers: str) -> None:
    modules = named(LOOKS_AT_NOTHING)
    _, output = run(tmp_path, modules, "--workers", workers)
    passed = [name for name in modules if f"FAILED test_{name}.py::" not in output]
    assert passed == [], output
    assert output.count("no assertion ran at test_a_loop.py:6, test") == 0
    assert "no assertion ran at test_a_loop.py:6: nothing came there" in output
    assert "`# may be empty: REASON`" in output


@pytest.mark.parametrize("workers", ["0", "2"])
def test_what_looks_at_something_passes(tmp_path: Path, workers: str) -> None:
    code, output = run(tmp_path, named(LOOKS), "--workers", workers)
    assert code == 0, output
    assert f"{len(LOOKS) + 2} passed, 1 skipped" in output


@pytest.mark.parametrize("words", [["-k", "1-"], ["test_a.py::test_some[1-x]"]])
def test_a_part_of_a_module_is_not_asked_for_what_the_rest_looks_at(tmp_path: Path, words: list[str]) -> None:
    text = """
@pytest.mark.parametrize(("number", "name"), [(1, "x"), (2, "y")])
def test_some(number, name):
    if number > 1:
        assert name == "y"
    assert number
"""
    code, output = run(tmp_path, {"a": text}, *words)
    assert code == 0, output
    assert "1 passed" in output


def test_a_module_with_a_failure_is_not_judged_for_what_the_failed_test_looks_at(tmp_path: Path) -> None:
    text = """
def look(number):
    if number > 2:
        assert number == 3
def test_fails():
    assert EMPTY == [1]
    look(3)
def test_some():
    look(1)
    assert FULL
"""
    code, output = run(tmp_path, {"a": text})
    assert code == 1, output
    assert "1 failed, 1 passed" in output


def test_a_test_keeps_its_lines_and_what_pytest_says_of_it(tmp_path: Path) -> None:
    code, output = run(tmp_path, {"a": "def test_some():\n    for each in FULL:\n        assert each == 1, 'words'"})
    assert code == 1
    assert "test_a.py:7: AssertionError" in output
    assert "AssertionError: words" in output
    assert "assert 2 == 1" in output


def test_what_asserts_for_its_caller_is_known_over_two_steps() -> None:
    text = "def a():\n    assert x\ndef b(self):\n    self.a()\nasync def c():\n    await b()\ndef d(): ...\n"
    assert asserting(ast.parse(text)) == {"a", "b", "c"}


def test_the_points_of_a_module_and_what_the_rules_make_of_them() -> None:
    text = "def test_a():\n    for x in y:\n        assert x\n    if y:\n        assert y\n    assert 1\n"
    marks = Marks(text)
    marks.visit(ast.parse(text))
    loop, inside, branch = marks.points
    assert marks.points == [(1, 2, "test_a", 0), (2, 3, "test_a", 1), (3, 5, "test_a", 0)]
    assert empty_loops(marks.points, {1}) == [loop]
    assert empty_loops(marks.points, {1, 2}) == empty_loops(marks.points, set()) == []
    assert never_ran(marks.points, {1}, {"test_a"}) == [inside, branch]
    assert never_ran(marks.points, {1, 2, 3}, {"test_a"}) == never_ran(marks.points, set(), {"test_b"}) == []
