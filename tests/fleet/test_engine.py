"""What is said of a server that DBOS cannot use: its own words, in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.fleet.postgres.database import ServerAway
from holdfast.fleet.worker.engine import prepare_engine


def test_the_reason_is_the_servers_without_the_statement(tmp_path: Path) -> None:
    with pytest.raises(ServerAway, match=r"^DBOS could not do it: .+\. See whether the server runs") as raised:
        prepare_engine(f"postgresql:///none?host={tmp_path}")
    assert "connection" in str(raised.value)
    assert not any(each in str(raised.value) for each in ("\n", "sqlalche.me", "SELECT"))
