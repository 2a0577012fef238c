"""Where the lines of the source are, by package: `python bench/size.py` prints the table of decision 0023."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "holdfast"
KINDS = ("lines", "code", "docstrings", "imports", "blank and comments")


def lines(module: Path) -> Counter[str]:
    """Return how many lines of each kind a module has."""
    text = module.read_text()
    tree = ast.parse(text)
    kinds = dict(_kinds(tree))
    found: Counter[str] = Counter()
    for number, line in enumerate(text.splitlines(), start=1):
        quiet = not line.strip() or line.lstrip().startswith("#")
        found[kinds.get(number) or ("blank and comments" if quiet else "code")] += 1
        found["lines"] += 1
    return found


def _kinds(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from ((line, "imports") for line in _span(node))
            case ast.Expr(value=ast.Constant(value=str())):
                yield from ((line, "docstrings") for line in _span(node))
            case _:
                pass


def _span(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def package(module: Path) -> str:
    """Return the package a module is counted with: `ui/tui`, the formats and the protocols have their own."""
    *folders, _ = module.relative_to(SOURCE).parts
    alone = {("ui", "tui"), ("history", "formats"), ("testing", "protocols")}
    return "/".join(folders[: 2 if tuple(folders[:2]) in alone else 1]) or "(top)"


def main() -> None:
    """Print the table."""
    found: dict[str, Counter[str]] = {}
    for module in sorted(SOURCE.rglob("*.py")):
        for name in (package(module), "whole"):
            found.setdefault(name, Counter()).update(lines(module))
    print(f"| package | {' | '.join(KINDS)} |\n|{'---|' * (len(KINDS) + 1)}")
    for name, kinds in sorted(found.items()):
        print(f"| {name} | {' | '.join(f'{kinds[kind]:,}' for kind in KINDS)} |")


if __name__ == "__main__":
    main()
