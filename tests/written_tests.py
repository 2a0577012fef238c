"""The tests of the tree by their names, for pages and lists that name some: read as text, which costs no parsing."""

from __future__ import annotations

import functools
import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_TEST = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)


@functools.cache
def written_tests() -> frozenset[str]:
    """Return every test of the tree, as `path::name`."""
    return frozenset(
        f"{path.relative_to(_ROOT)}::{name}"
        for path in _ROOT.glob("tests/**/test_*.py")
        for name in _TEST.findall(path.read_text(encoding="utf-8"))
    )
