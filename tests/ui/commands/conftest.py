"""What tests of commands about sessions share: the sessions of the test's own home, and a folder to be in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.session.catalog import Catalog
from holdfast.system.user_directories import homes


@pytest.fixture
def catalog() -> Catalog:
    """Return the sessions of the test's own home."""
    return Catalog(homes(os.environ).sessions)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
