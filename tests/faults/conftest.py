"""What all tests of faults share: the court sits once for each process; a world whose commands can be confined."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import verdicts

sys.path.append(str(Path(__file__).parents[1] / "e2e"))  # whole programs are struck too: launching, editor_client

from launching import World

from holdfast.testing.scripted_provider import ScriptedProvider
from walls import need


@pytest.fixture(scope="session", autouse=True)
def _court() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction] - pytest uses it
    yield
    verdicts.close()


@pytest.fixture
def walled_world(tmp_path: Path) -> Iterator[World]:
    """Return a world in which bubblewrap confines commands."""
    need("bwrap")
    with ScriptedProvider() as provider:
        world = World("openai-chat", root=tmp_path, provider=provider)
        world.one_past = False
        yield world
        world.close()
