"""A folder that other users may enter and that a view of the whole disk shows."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder outside of /tmp, which every wall has for itself and whose folders pytest closes."""
    parent = "/srv" if os.access("/srv", os.W_OK) else str(Path.home())
    folder = Path(tempfile.mkdtemp(prefix="holdfast-test-", dir=parent))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)
