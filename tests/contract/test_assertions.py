"""Every test asserts something, and something that a result of nothing would not satisfy.

Which assertions of a passing test ran is seen while it runs (`tests/ran_assertions.py`); here is what its text shows.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest
from source_tree import Source, complaints, dotted, expect_none, source, sources

CONTROLS = re.compile(r"^(_?expect|_?assert|_?check|wait|until|eventually)(_|$)|^(raises|warns|fail)$")
"""How the functions are called that fail unless something is there: also those that wait for it."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def asserts_nothing(module: Source, elsewhere: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield a sentence for each test without an assertion, with those of `elsewhere` and of what it calls."""
    asserting = {*elsewhere, *_asserting((module,))}
    for test in _tests(module):
        if not any(isinstance(each, ast.Assert) for each in ast.walk(test)) and not any(
            CONTROLS.search(name) or name in asserting for name in _called(test)
        ):
            yield f"line {test.lineno}: {test.name} asserts nothing"


def only_denies(module: Source) -> Iterator[str]:
    """Yield a sentence for each test that only says what is not there: it is green, too, if nothing is."""
    for test in _tests(module):
        asserted = [each.test for each in ast.walk(test) if isinstance(each, ast.Assert)]
        if asserted and all(map(_denies, asserted)) and not any(map(CONTROLS.search, _called(test))):
            yield f"line {test.lineno}: {test.name} only says what is not there; say what is, or the whole result"


def _denies(asserted: ast.expr) -> bool:
    """Return whether it is `x not in y` or `not any(…)`, alone, joined by `and`, or for all of something."""
    match asserted:
        case ast.Compare(ops=[ast.NotIn()]):
            return True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=ast.Name(id="any")) | ast.Compare(ops=[ast.In()])):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            return all(map(_denies, values))
        case ast.Call(func=ast.Name(id="all"), args=[ast.GeneratorExp(elt=element) | ast.ListComp(elt=element)]):
            return _denies(element)
        case _:
            return False


def _tests(module: Source) -> Iterator[Function]:
    for node in ast.walk(module.tree):
        if isinstance(node, Function) and node.name.startswith("test_"):
            yield node


def _called(node: ast.AST) -> set[str]:
    return {dotted(each.func).rpartition(".")[2] for each in ast.walk(node) if isinstance(each, ast.Call)}


def _asserting(modules: tuple[Source, ...]) -> frozenset[str]:
    """Return the names of the functions that assert or raise, or call one that does."""
    called: dict[str, set[str]] = {}
    found: set[str] = set()
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, Function) and not node.name.startswith("test_"):
                called.setdefault(node.name, set()).update(_called(node))
                if any(isinstance(each, ast.Assert | ast.Raise) for each in ast.walk(node)):
                    found.add(node.name)
    while more := {name for name, names in called.items() if names & found} - found:
        found |= more
    return frozenset(found)


@functools.cache
def _test_modules() -> tuple[Source, ...]:
    return tuple(each for each in sources("tests") if PurePosixPath(each.path).name.startswith("test_"))


def test_every_test_asserts_something() -> None:
    known = _asserting(sources("tests"))
    assert len(_test_modules()) > 400
    expect_none(complaints(lambda module: asserts_nothing(module, known), _test_modules()))


def test_no_test_only_says_what_is_not_there() -> None:
    expect_none(complaints(only_denies, _test_modules()))


@pytest.mark.parametrize(
    "text",
    [
        "def test_x(): ...",
        "def test_x():\n    run()",
        "async def test_x():\n    await run()",
        "def look():\n    return 1\ndef test_x():\n    look()",
        "class TestX:\n    def test_x(self):\n        self.run()",
    ],
)
def test_a_test_without_an_assertion_is_found(text: str) -> None:
    assert list(asserts_nothing(source("tests/test_x.py", text)))


@pytest.mark.parametrize(
    "text",
    [
        "def test_x():\n    assert run() == 1",
        "def test_x():\n    with pytest.raises(ValueError):\n        run()",
        "def test_x():\n    eventually(lambda: run())",
        "def look():\n    assert run()\ndef step():\n    look()\ndef test_x():\n    step()",
        "def test_x():\n    def inner():\n        assert run()\n    inner()",
    ],
)
def test_one_with_an_assertion_is_not(text: str) -> None:
    assert list(asserts_nothing(source("tests/test_x.py", text))) == []


@pytest.mark.parametrize(
    "asserted",
    [
        "'key' not in run()",
        "not any(each.is_bad for each in run())",
        "not 'key' in run()",
        "'key' not in run() and 'word' not in run()",
        "all('key' not in each for each in run())",
    ],
)
def test_a_test_that_only_denies_is_found(asserted: str) -> None:
    assert list(only_denies(source("tests/test_x.py", f"def test_x():\n    assert {asserted}")))
    looped = f"def test_x():\n    for each in run():\n        assert {asserted}"
    assert list(only_denies(source("tests/test_x.py", looped)))


@pytest.mark.parametrize(
    "text",
    [
        "def test_x():\n    assert 'key' not in run()\n    assert 'said' in run()",
        "def test_x():\n    terminal.wait_text('said')\n    assert 'key' not in terminal.text()",
        "def test_x():\n    assert run() == []",
        "def test_x():\n    assert not is_bad(run())",
        "def test_x():\n    assert run() is None",
        "def test_x():\n    assert 'key' not in run() or 'said' in run()",
    ],
)
def test_one_that_says_what_is_there_is_not(text: str) -> None:
    assert list(only_denies(source("tests/test_x.py", text))) == []
