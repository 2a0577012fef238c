"""A function's docstring names no parameter, variable or field that is gone or has another name now.

A lower-case word between back quotes must be written by the code of the same module, or be a function, a class, a
method or a module of the source. The few others are words of a user, of a model or of another program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import pytest
from source_tree import Source, expect_none, nodes, source, sources

_NAMED = re.compile(r"(?<![\w`])`([a-z][a-z0-9_]*)`(?!`)")

FOREIGN = {
    "a__b": "a tool of a server, in an example",
    "auto": "a value of the setting `sandbox`",
    "aw": "keys of vim",
    "cd": "the command",
    "cw": "keys of vim",
    "dbos": "the package",
    "init": "a line of stream-json",
    "initialize": "a request of the protocol",
    "mcp__a__b__x": "a tool of a server, in an example",
    "python3": "the program",
    "require": "a value of the setting `sandbox`",
    "strerror": "a field of Python's `OSError`",
    "yolo": "a mode",
    "file_path": "a field of a model's call",
}
"""The names that a docstring may have though neither its module nor a definition of the source has them."""


def documents(module: Source) -> Iterator[tuple[str, str]]:
    """Yield the name and the docstring of each function and method."""
    for node in nodes(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)):
            yield node.name, text


def written(module: Source) -> frozenset[str]:
    """Return each name that the code of a module writes: also the words of its texts that are no docstrings."""
    texts = {id(node.value) for node in nodes(module.tree) if isinstance(node, ast.Expr)}
    found: set[str] = set()
    for node in nodes(module.tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
            case ast.Constant(value=str(text)) if id(node) not in texts:
                found.update(re.findall(r"\w+", text))
            case _:
                pass
    return frozenset(found)


def defined(modules: Iterable[Source]) -> frozenset[str]:
    """Return the names of all modules, classes, functions and methods."""
    found: set[str] = set()
    for module in modules:
        found.update(PurePosixPath(module.path).with_suffix("").parts)
        found.update(
            node.name
            for node in nodes(module.tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        )
    return frozenset(found)


def gone(module: Source, known: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Yield each function of a module with a name in its docstring that nothing has."""
    here = written(module)
    for function, text in documents(module):
        for name in _NAMED.findall(text):
            if name not in here and name not in known:
                yield function, name


def test_a_docstring_names_what_is_there() -> None:
    modules = sources("src/holdfast")
    known = defined(modules) | frozenset(FOREIGN)
    expect_none(
        f"{module.path}: {function} names `{name}`, which is nothing now: write what it is called"
        for module in modules
        for function, name in gone(module, known)
    )


def test_every_foreign_name_is_in_a_docstring() -> None:
    modules = sources("src/holdfast")
    known = defined(modules)
    used = {name for module in modules for _, name in gone(module, known)}
    expect_none(f"{name} is in no docstring now: take it out" for name in FOREIGN if name not in used)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('def f(now: int) -> None:\n    """Do it; `before` is when it was asked."""\n', ["before"]),
        ('def f(now: int) -> None:\n    """Do it; `now` is when it is asked, as `g` has it."""\n', []),
        ('class A:\n    async def f(self) -> None:\n        """Do it with `gone_field`."""\n', ["gone_field"]),
        ('def f() -> str:\n    """Return `shown`, not `hidden`."""\n    return "shown"\n', ["hidden"]),
        ('def f() -> str:\n    """Return what `Reader.read` and `a.b` and ``x`` have."""\n', []),
    ],
)
def test_a_name_that_is_gone_is_found(text: str, names: list[str]) -> None:
    module = source("src/holdfast/x.py", text)
    assert [name for _, name in gone(module, frozenset({"g"}))] == names
