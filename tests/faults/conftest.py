"""What all tests of faults share: the court sits once for each process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import verdicts

sys.path.append(str(Path(__file__).parents[1] / "e2e"))  # whole programs are struck too: launching, editor_client


@pytest.fixture(scope="session", autouse=True)
def _court() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - pytest uses it
    yield
    verdicts.close()
