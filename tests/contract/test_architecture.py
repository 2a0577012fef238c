"""The table of one prompt in docs/explanation/architecture.md is true to the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from source_tree import read, sources

PAGE = "docs/explanation/architecture.md"
_ROW = re.compile(r"^\| (\d+) \| `([\w/.]+)` \| `([\w.]+)` \| [^|]+ \|((?:(?:,| or)? `[\w.]+`)*) *\|$", re.MULTILINE)

MOST_HOPS = 28
MOST_FILES = 15


class Hop(NamedTuple):
    """A line of the table: a function, and what the prompt passes on the way to it.

    That is a function, written `Class.method`, or something that carries the prompt: a message, a queue.
    """

    number: int
    file: str
    function: str
    through: tuple[str, ...]


def hops(page: str) -> list[Hop]:
    """Return the lines of the table in `page`."""
    return [
        Hop(int(number), file, function, tuple(re.findall(r"`([\w.]+)`", through)))
        for number, file, function, through in _ROW.findall(page)
    ]


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


def short(name: str) -> str:
    """Return the name as a caller writes it."""
    return name.rpartition(".")[2]


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
        if place > 1 and not hop.through and short(hop.function) not in above:
            yield f"{hop.function} is used by none of those above it: no {short(hop.function)!r} there"
        yield from _wrong_way(hop, function, modules, above)
        above.update(names_in(function))


def _wrong_way(hop: Hop, function: ast.AST, modules: Mapping[str, ast.Module], above: set[str]) -> Iterator[str]:
    """Yield a sentence for each name in the last column that does not lead to the function; add what they use."""
    callers = set(above)
    for place, passed in enumerate(hop.through, 1):
        if short(passed) not in above:
            yield f"{passed} is used by none of those above {hop.function}"
        if "." not in passed:  # it carries the prompt
            if passed not in names_in(function):
                yield f"{hop.function} does not use {passed}"
            continue
        found = next(filter(None, (function_in(module, passed) for module in modules.values())), None)
        if found is None:
            yield f"the code has no {passed}"
            continue
        used = set(names_in(found))
        onward = {short(hop.function), *map(short, hop.through[place:])}
        # Either it names what comes next, or a caller names that and gives it to this function to be called.
        given = bool(used & parameters(found)) and bool(onward & callers)
        if not (used & onward or given):
            yield f"{passed} does not lead to {hop.function}"
        above |= used


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Return the names of what a caller gives to the function."""
    return {each.arg for each in (*function.args.args, *function.args.kwonlyargs)} - {"self"}


def test_the_table_is_true() -> None:
    table = hops(read(PAGE))
    modules = {each.inner: each.tree for each in sources("src")}
    assert list(wrong(table, modules)) == []


def test_the_way_does_not_grow() -> None:
    """Shorten it, and the numbers here and in decision 0030 with it."""
    table = hops(read(PAGE))
    assert 20 < len(table) <= MOST_HOPS
    assert len({hop.file for hop in table}) <= MOST_FILES


def test_an_untrue_table_is_found() -> None:
    module = ast.parse(
        "class A:\n"
        "    def one(self): self.two(); self.queue; self.give(lambda: self.four())\n"
        "    def two(self): self.three()\n"
        "    def three(self): ...\n"
        "    def four(self): ...\n"
        "    def give(self, act): act()\n"
    )

    def complaints(*rows: str) -> str:
        lines = (row.partition(" ") for row in rows)
        page = "\n".join(f"| {at} | `a.py` | `{name}` | what | {way} |" for at, (name, _, way) in enumerate(lines, 1))
        return "; ".join(wrong(hops(page), {"a.py": module}))

    assert complaints("A.one", "A.two") == ""
    assert complaints("A.one", "A.three") == "A.three is used by none of those above it: no 'three' there"
    assert complaints("A.one", "A.five") == "a.py has no A.five"
    assert complaints("A.one", "A.three `A.two`") == ""
    assert complaints("A.one", "A.four `A.give`") == ""
    assert complaints("A.one", "A.four `A.two`") == "A.two does not lead to A.four"
    assert complaints("A.one", "A.two `queue`") == "A.two does not use queue"
    assert complaints("A.one", "A.two `A.six`") == "A.six is used by none of those above A.two; the code has no A.six"
    assert complaints("A.two", "A.three `A.four`") == (
        "A.four is used by none of those above A.three; A.four does not lead to A.three"
    )
