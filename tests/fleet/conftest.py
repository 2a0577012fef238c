"""One PostgreSQL for the tests of a run; a new database for each test that asks for `store_url` or for `workers`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from kept_open import close_all
from servers import fresh_database, own_server
from worker_programs import Workers

from holdfast.testing.scripted_provider import ScriptedProvider
from skips import require


@pytest.fixture
def whole_fleet() -> None:
    """Leave a test to `make fleet`: its workers or servers take seconds to start, and half a processor."""
    if not os.environ.get("HOLDFAST_FLEET"):
        pytest.skip("real workers and crashes of the server: make fleet")


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    require("postgresql")
    if url := os.environ.get("HOLDFAST_TEST_PG"):
        yield url
        return
    with own_server() as server:
        yield server.url


@pytest.fixture
def store_url(server_url: str) -> Iterator[str]:
    with fresh_database(server_url) as url:
        try:
            yield url
        finally:
            close_all()


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as provider:
        yield provider


@pytest.fixture
def workers(whole_fleet: None, server_url: str, provider: ScriptedProvider, tmp_path: Path) -> Iterator[Workers]:
    del whole_fleet
    home = tmp_path / "home"
    home.mkdir()
    with fresh_database(server_url, engine=True) as url:
        created = Workers(url, home, provider.environ())
        try:
            yield created
        finally:
            created.close()
            close_all()
