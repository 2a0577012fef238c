"""No test is left out in silence: a skip names its group in `tests/needs.py`, or stands here with its reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from source_tree import Source, complaints, dotted, expect_none, nodes, source, sources

SKIPS = {"skip", "skipif", "importorskip"}

# Where else a test may leave itself out, and why this is no group that could be installed.
OTHERS: dict[str, str] = {
    "tests/skips.py": "the door",
    "tests/needs.py": "the list behind the door",
    "tests/fleet/servers.py": "PostgreSQL refuses to run as root",
    "tests/fleet/conftest.py": "tests of make fleet alone",
    "tests/fleet/test_postgres_store_laws.py": "a server of their own, where HOLDFAST_TEST_PG names one",
    "tests/providers/test_inferred_model.py": "the deep tier",
    "tests/e2e/test_slow_terminal.py": "the deep tier",
    "tests/test_picture.py": "a deeper tier",
    "tests/test_bench.py": "a deeper tier",
    "tests/walls.py": "who owns the files of a test",
    "tests/escape_attempts.py": "who owns the files of a test",
    "tests/system/confinement/test_escapes.py": "an attempt that is never made as root",
    "tests/test_typed_data.py": "a fault of one version of msgspec",
    "tests/ui/test_main.py": "a name that no file can have here",
    "tests/ui/commands/test_sessions.py": "a name that no file can have here",
}


def leaves_out(module: Source) -> Iterator[str]:
    """Yield each skip of a module of tests that goes round the door."""
    if not module.path.startswith("tests/") or module.path in OTHERS:
        return
    for line, name in skips(module):
        yield f"line {line}: {name}: use needs() or require() of tests/skips.py, with a group"


def skips(module: Source) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each skip, and of each question to the system whether this is root."""
    for node in nodes(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in SKIPS and dotted(node).startswith(("pytest.", "mark.")):
            yield node.lineno, dotted(node)
        if isinstance(node, ast.Compare) and ast.unparse(node.left) == "os.geteuid()":
            yield node.lineno, "os.geteuid"


def test_every_skip_goes_through_the_door() -> None:
    assert len(sources("tests")) > 500
    expect_none(complaints(leaves_out, sources("tests")))


def test_every_other_skip_is_still_there() -> None:
    assert OTHERS.keys() - {each.path for each in sources("tests") if list(skips(each))} == set()


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\n@pytest.mark.skipif(True, reason='no rg')\ndef test(): ...\n",
        "import pytest\ndef test():\n    pytest.skip('no rg')\n",
        "import pytest\nmcp = pytest.importorskip('mcp')\n",
        "import os\ndef test():\n    if os.geteuid() == 0:\n        return\n",
    ],
)
def test_a_skip_beside_the_door_is_found(text: str) -> None:
    assert complaints(leaves_out, [source("tests/tools/test_x.py", text)])
    assert not complaints(leaves_out, [source("src/holdfast/x.py", text)])
