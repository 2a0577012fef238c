"""What every end-to-end test starts from: a world per wire, held to the rules when the test has passed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from launching import MODELS, WALKED, World

from holdfast.testing.script import WireName
from holdfast.testing.scripted_provider import ScriptedProvider
from tiers import one_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each story its wires: in the deep tier both that stories walk, else one of them, by the story's name."""
    parametrized = [str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize")]
    if "world" in metafunc.fixturenames and "world" not in parametrized:
        metafunc.parametrize("world", one_of(WALKED, metafunc.definition.name), indirect=True)


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Return a world on a wire that every story walks."""
    yield from opened(request.param, tmp_path)


@pytest.fixture(params=[wire for wire in MODELS if wire not in WALKED])
def other_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Return a world on each of the other wires in turn."""
    yield from opened(request.param, tmp_path)


@pytest.fixture
def one_world(tmp_path: Path) -> Iterator[World]:
    """Return a world on one wire, for what never comes to the other's bytes."""
    yield from opened("openai-chat", tmp_path)


@pytest.fixture
def any_world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Return a world on the wire that the test names."""
    yield from opened(request.param, tmp_path)


def opened(wire: WireName, root: Path) -> Iterator[World]:
    with ScriptedProvider() as provider:
        world = World(wire, root=root, provider=provider)
        try:
            yield world
            world.verify()
        finally:
            world.close()
