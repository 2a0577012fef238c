"""What `import holdfast` gives: every public name, and nothing before it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import holdfast
from holdfast.providers.model import Model


def test_every_public_name_is_there() -> None:
    assert holdfast.Model is Model
    for name in holdfast.__all__:
        assert getattr(holdfast, name) is not None, name
    assert sorted(holdfast.__all__) == holdfast.__all__


def test_no_other_name_is() -> None:
    with pytest.raises(AttributeError, match=r"^module 'holdfast' has no attribute 'Modle'$"):
        holdfast.Modle  # noqa: B018 # pyright: ignore[reportAttributeAccessIssue] - the point of the test


def test_the_import_itself_loads_nothing() -> None:
    code = "import sys; before = set(sys.modules); import holdfast; print(sorted(set(sys.modules) - before))"
    found = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "['__future__', 'holdfast']\n"
