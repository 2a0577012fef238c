"""What all tests of the host share: nothing that a rig's agent told or did may have come before its entry."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_harness import WITNESSES


@pytest.fixture(autouse=True)
def _told_what_is_durable() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - pytest uses it
    WITNESSES.clear()
    yield
    assert [complaint for witness in WITNESSES for complaint in witness.complaints] == []
