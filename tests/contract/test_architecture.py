"""The table of one prompt in docs/explanation/architecture.md is true to the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from source_tree import read

PAGE = "docs/explanation/architecture.md"
_ROW = re.compile(r"^\| (\d+) \| `([\w/.]+)` \| `([\w.]+)` \| [^|]+ \| (?:`(\w+)`)? ?\|$", re.MULTILINE)

MOST_HOPS = 28
MOST_FILES = 15


class Hop(NamedTuple):
    """A line of the table: a function, and what leads to it if it is not called by its name."""

    number: int
    file: str
    function: str
    through: str


def hops(page: str) -> list[Hop]:
    """Return the lines of the table in `page`."""
    return [Hop(int(number), *rest) for number, *rest in _ROW.findall(page)]


def function_in(module: ast.Module, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the function `name` (`Class.method` or a function), None if the module has none."""
    body: list[ast.stmt] = module.body
    for part in name.split("."):
        found = [
            node
            for node in body
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == part
        ]
        if not found:
            return None
        if isinstance(found[-1], ast.ClassDef):
            body = found[-1].body
        else:
            return found[-1]
    return None


def names_in(function: ast.AST) -> Iterator[str]:
    """Yield every name and attribute that the function uses."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def wrong(table: list[Hop], modules: Mapping[str, ast.Module]) -> Iterator[str]:
    """Yield a sentence for each line that the code does not bear out."""
    above: set[str] = set()
    for place, hop in enumerate(table, 1):
        if hop.number != place:
            yield f"line {place} has the number {hop.number}"
        function = function_in(modules[hop.file], hop.function) if hop.file in modules else None
        if function is None:
            yield f"{hop.file} has no {hop.function}"
            continue
        lead = hop.through or hop.function.rpartition(".")[2]
        if place > 1 and lead not in above:
            yield f"{hop.function} is used by none of those above it: no {lead!r} there"
        above.update(names_in(function))


def test_the_table_is_true() -> None:
    table = hops(read(PAGE))
    modules = {hop.file: ast.parse(read(f"src/holdfast/{hop.file}")) for hop in table}
    assert list(wrong(table, modules)) == []


def test_the_way_does_not_grow() -> None:
    """Shorten it, and the numbers here and in decision 0030 with it."""
    table = hops(read(PAGE))
    assert 20 < len(table) <= MOST_HOPS
    assert len({hop.file for hop in table}) <= MOST_FILES


def test_an_untrue_table_is_found() -> None:
    module = ast.parse("class A:\n    def one(self): self.two()\n    def two(self): ...\n    def three(self): ...\n")

    def complaints(*rows: str) -> str:
        page = "\n".join(f"| {number} | `a.py` | `{row}` | what | |" for number, row in enumerate(rows, 1))
        return "; ".join(wrong(hops(page), {"a.py": module}))

    assert complaints("A.one", "A.two") == ""
    assert complaints("A.one", "A.three") == "A.three is used by none of those above it: no 'three' there"
    assert complaints("A.one", "A.four") == "a.py has no A.four"
