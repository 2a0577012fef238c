"""A docstring that states laws has a test that tries them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

import pytest
from source_tree import Source, expect_none, files, nodes, source, sources


def unproved(module: Source, *, exists: Callable[[str], bool], checks: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for each docstring whose `Laws` name no test, or one that is not there."""
    expected = f"test_{PurePosixPath(module.path).stem}_laws.py"
    for node in nodes(module.tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        laws = re.search(r"^\s*Laws\b(.*)", ast.get_docstring(node) or "", flags=re.MULTILINE | re.DOTALL)
        if laws is None:
            continue
        tests = re.findall(r"test_\w+_laws\.py", laws[1])
        suites = re.findall(r"holdfast\.testing\.(\w+)", laws[1])
        missing = [test for test in tests if not exists(test)] + [suite for suite in suites if suite not in checks]
        if missing:
            yield f"the laws of {_name(node)} are said to be tried by {missing[0]}, which is not there"
        elif not tests and not suites and not exists(expected):
            yield f"{_name(node)} states laws, but {expected} is not there"


def _name(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return "the module" if isinstance(node, ast.Module) else node.name


def public_checks() -> frozenset[str]:
    """Return the functions that holdfast.testing defines."""
    modules = [each for each in sources("src") if each.inner.startswith("testing/")]
    functions = [node for each in modules for node in each.tree.body if isinstance(node, ast.FunctionDef)]
    return frozenset(function.name for function in functions)


def test_every_law_is_tried() -> None:
    tests = {PurePosixPath(path).name for path in files() if path.startswith("tests/")}
    found = [
        f"{each.path}: {complaint}"
        for each in sources("src")
        for complaint in unproved(each, exists=tests.__contains__, checks=public_checks())
    ]
    expect_none(found)


@pytest.mark.parametrize(
    "text",
    [
        '"""Fold.\n\nLaws: a longer journal extends the conversation.\n"""',
        '"""Fold.\n\nLaws (`tests/test_gone_laws.py`): it is pure.\n"""',
        'class Store:\n    """Keep.\n\n    Laws (`holdfast.testing.check_gone`): all or none.\n    """',
    ],
)
def test_a_law_without_a_test_is_found(text: str) -> None:
    assert list(unproved(source("src/holdfast/fold.py", text), exists=lambda _: False, checks=frozenset()))


def test_a_law_with_a_test_passes() -> None:
    text = '"""Fold.\n\nLaws: a longer journal extends the conversation.\n"""'
    there = {"test_fold_laws.py"}.__contains__
    assert list(unproved(source("src/holdfast/fold.py", text), exists=there, checks=frozenset())) == []
