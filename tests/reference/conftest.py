"""Every scenario of the reference is played on both wires, and everything it sent is judged when it is over."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from reference_harness import Stage

from holdfast.testing.script import WireName


@pytest.fixture(params=["openai-chat", "anthropic"])
def wire(request: pytest.FixtureRequest) -> WireName:
    """Return the protocol that the provider of this test speaks."""
    return request.param


@pytest.fixture
async def stage(wire: WireName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    """Yield a new session; afterwards no request of it may have been refused."""
    stage = Stage(tmp_path, wire)
    monkeypatch.chdir(stage.workspace)
    yield stage
    await stage.quit()
    stage.judge()
