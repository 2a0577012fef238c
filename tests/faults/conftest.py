"""What all tests of faults share: the court sits once for each process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import verdicts


@pytest.fixture(scope="session", autouse=True)
def _court() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - pytest uses it
    yield
    verdicts.close()
