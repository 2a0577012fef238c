"""Imports flow down only, and what start-up must not pay for is not imported at start-up."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest
from source_tree import expect_none

from polling import HANGS

Edge = tuple[str, str]

# Lowest first. Two names in one row may not import each other, except the leaves of the first.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "text", "tool_calls", "questions", "typed_data", "system"),
    ("history",),
    ("session", "tools"),
    ("ledger", "guard"),
    ("config",),
    ("providers",),
    ("agent", "testing"),
    ("undo", "skills", "hooks"),
    ("host",),
    ("fleet",),
    ("ui", "__main__"),
)
RANK = {name: rank for rank, row in enumerate(LAYERS) for name in row}
SEPARATE = {("session", "tools"), ("tools", "session"), ("agent", "testing"), ("testing", "agent")}


def upward(edges: Iterable[Edge]) -> Iterator[str]:
    """Yield a sentence for each import that does not flow down."""
    for importer, imported in edges:
        above, below = _part(importer), _part(imported)
        if not above:
            yield f"{importer} imports {imported}: the root is imported with every module, so it must import none"
        elif above not in RANK:
            yield f"{importer} is in no layer: give {above} a place in LAYERS and in docs/explanation/architecture.md"
        elif below in RANK and RANK[below] > RANK[above]:
            yield f"{importer} imports {imported}, which is above it"
        elif (above, below) in SEPARATE:
            yield f"{importer} imports {imported}: session and tools know nothing of each other"
        elif (above, below) == ("testing", "history"):
            yield f"{importer} imports {imported}: fakes that share our rules share our mistakes"


def cycle(edges: Iterable[Edge]) -> list[str]:
    """Return one circle of imports, or nothing."""
    graph: dict[str, set[str]] = {}
    for importer, imported in edges:
        graph.setdefault(importer, set()).add(imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(module) for module in error.args[1]]
    return []


def _part(module: str) -> str:
    return ".".join(module.split(".")[1:2])


@pytest.fixture(scope="module")
def edges() -> list[Edge]:
    graph = grimp.build_graph("holdfast", cache_dir=None)
    loaded = grimp.build_graph("holdfast", cache_dir=None, exclude_type_checking_imports=True)
    return [
        (importer, imported)
        for importer in sorted(graph.modules)
        # The root says what it has to type checkers, and imports none of it.
        for imported in sorted(
            (loaded if importer == "holdfast" else graph).find_modules_directly_imported_by(importer)
        )
    ]


def test_imports_flow_down(edges: list[Edge]) -> None:
    assert edges
    expect_none(upward(edges))


def test_no_cycles(edges: list[Edge]) -> None:
    circle = cycle(edges)
    expect_none([" imports ".join(circle)] if circle else [])


@pytest.mark.parametrize(
    "edge",
    [
        ("holdfast.errors", "holdfast.session.journal.store"),
        ("holdfast.history.rules", "holdfast.tools.tool"),
        ("holdfast.session.journal.store", "holdfast.tools.tool"),
        ("holdfast.tools.tool", "holdfast.session.journal.store"),
        ("holdfast.agent.agent", "holdfast.ui.main"),
        ("holdfast.agent.agent", "holdfast.testing"),
        ("holdfast.agent.agent", "holdfast.fleet.record"),
        ("holdfast.fleet.record", "holdfast.ui.main"),
        ("holdfast.testing.checks", "holdfast.history.rules"),
        ("holdfast.somewhere", "holdfast.errors"),
        ("holdfast", "holdfast.agent"),
    ],
)
def test_an_import_that_does_not_flow_down_is_found(edge: Edge) -> None:
    assert list(upward([edge]))


def test_a_cycle_is_found() -> None:
    assert cycle([("holdfast.a", "holdfast.b"), ("holdfast.b", "holdfast.a")])


# --- start-up --------------------------------------------------------------------------------------------------------

HEAVY = ("pydantic_ai", "pydantic", "textual", "openai", "anthropic", "google", "httpx", "httpx2")


def heavy(importtime: str) -> list[str]:
    """Return the heavy packages named in what `python -X importtime` wrote."""
    names = re.findall(r"^import time:.*\|\s*([\w.]+)$", importtime, flags=re.MULTILINE)
    return sorted({name.partition(".")[0] for name in names} & set(HEAVY))


@pytest.mark.parametrize("words", [("--version",), ("sessions", "list")])
def test_what_needs_no_model_imports_no_provider_and_no_screen(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "holdfast", *words],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=HANGS,
    )
    errors = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]
    assert done.returncode == 0, errors
    assert "holdfast" in done.stderr, "-X importtime wrote nothing: this test would pass whatever was imported"
    assert heavy(done.stderr) == []


def test_a_heavy_import_at_start_up_is_found() -> None:
    assert heavy("import time:       120 |       3400 |   pydantic_ai.models\n") == ["pydantic_ai"]
