"""The tree as the contracts see it: parsed modules, documents, and small questions about their syntax.

A contract is a function from a `Source` or a text to complaints. It is run over the tree, where it must find nothing,
and over known-bad snippets, where it must find something: a contract that cannot turn red proves nothing.
"""

from __future__ import annotations

import ast
import functools
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file: its path in the repository, its text and its syntax tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def inner(self) -> str:
        """Return the path within the package, as the tables of these contracts name it."""
        return self.path.removeprefix("src/holdfast/")


Contract = Callable[[Source], Iterator[str]]


def source(path: str, text: str) -> Source:
    """Return the parsed source."""
    return Source(path=path, text=text, tree=ast.parse(text))


def complaints(contract: Contract, sources: Iterable[Source]) -> list[str]:
    """Return everything `contract` says about `sources`, each with its file."""
    return [f"{each.path}: {complaint}" for each in sources for complaint in contract(each)]


def expect_none(found: Iterable[str]) -> None:
    """Fail with every complaint in full, if there is one."""
    listed = list(found)
    assert not listed, "\n".join(["", *listed])


@functools.cache
def files() -> tuple[str, ...]:
    """Return every file of the repository, new ones included, ignored ones not."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return tuple(sorted(path for path in set(listed.stdout.split("\0")) if path and (ROOT / path).is_file()))


@functools.cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Return the Python files beneath `folders`, parsed."""
    prefixes = tuple(f"{folder}/" for folder in folders)
    return tuple(_parsed(path) for path in files() if path.startswith(prefixes) and path.endswith(".py"))


@functools.cache
def _parsed(path: str) -> Source:
    return source(path, read(path))


@functools.cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return every node of a module, as `ast.walk` has them: a dozen contracts look at each."""
    return tuple(ast.walk(tree))


@functools.cache
def with_folders(paths: tuple[str, ...]) -> frozenset[str]:
    """Return the paths and every folder that holds one of them."""
    return frozenset({*paths, *(str(parent) for each in paths for parent in PurePosixPath(each).parents)})


def documents() -> tuple[str, ...]:
    """Return the path of every Markdown file."""
    return tuple(path for path in files() if path.endswith(".md"))


def read(path: str) -> str:
    """Return the text of a file of the repository."""
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


@functools.cache
def imported(tree: ast.Module) -> tuple[tuple[str, int], ...]:
    """Return each module that `tree` imports, anywhere in it, with the line; `from a import b` gives `a` and `a.b`."""
    return tuple(_imported(tree))


def _imported(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in nodes(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module, node.lineno
                yield from ((f"{module}.{alias.name}", node.lineno) for alias in names)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if dotted(function) in {
                "__import__",
                "import_module",
                "importlib.import_module",
            }:
                yield name, node.lineno
            case _:
                pass


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for a chain of names, else the empty string."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted(value)}.{attribute}"
        case _:
            return ""


def within(name: str, module: str) -> bool:
    """Return whether `name` is `module` or something in it."""
    return name == module or name.startswith(f"{module}.")
