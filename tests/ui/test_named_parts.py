"""Whatever is named as `module:name` is there: no type checker looks into a text."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

import holdfast

SOURCE = Path(holdfast.__file__).parent
ENTRY = re.compile(r"""(?<=["'])holdfast(?:\.\w+)+:\w+(?=["'])""")


def named() -> list[str]:
    """Return every text of the source that names a part. Read as text: to parse the source takes seconds."""
    return sorted({each for path in SOURCE.rglob("*.py") for each in ENTRY.findall(path.read_text(encoding="utf-8"))})


@pytest.mark.parametrize("entry", named())
def test_what_is_named_is_there(entry: str) -> None:
    assert resolve_name(entry) is not None


def test_there_are_some() -> None:
    assert len(named()) > 8
