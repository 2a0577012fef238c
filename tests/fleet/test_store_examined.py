"""What the doctor says of a fleet's record: a server that is down, a standby, none yet, and a good one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from servers import fresh_database, in_database, own_server

from holdfast.fleet.postgres.database import place_of
from holdfast.fleet.postgres.schema import ServerHealth
from holdfast.ui.commands.doctor.findings import DoctorFinding
from holdfast.ui.commands.doctor.fleet_store import store_finding, store_findings
from holdfast.ui.main import main
from skips import require

GOOD = ServerHealth(version="15.1", has_standby=True, workers=2)


@pytest.mark.parametrize(
    ("health", "level", "words"),
    [
        (GOOD, "ok", "PostgreSQL 15.1 at db/holdfast, 2 workers alive"),
        (ServerHealth(version="15", is_standby=True), "fail", "Name the primary in HOLDFAST_STORE"),
        (ServerHealth(version="15", problem="Run init."), "fail", "Run init."),
        (ServerHealth(version="15", workers=1), "warn", "No synchronous standby"),
        (ServerHealth(version="15", workers=1, has_standby=True, syncs=False), "warn", "fsync is off"),
        (ServerHealth(version="15", has_standby=True), "warn", "Start `holdfast worker`"),
    ],
)
def test_a_record_has_a_level_and_words(health: ServerHealth, level: str, words: str) -> None:
    found = store_finding("db/holdfast", health)
    assert found.level == level
    assert words in f"{found.what} {found.todo}"


def only(url: str) -> DoctorFinding:
    (found,) = store_findings({"HOLDFAST_STORE": url})
    return found


def test_nothing_is_examined_without_a_store() -> None:
    assert list(store_findings({})) == []
    wrong = only("mysql://me:secret@db/holdfast")
    assert (wrong.level, wrong.what) == ("fail", "HOLDFAST_STORE")
    assert "secret" not in wrong.todo
    assert place_of("postgresql://me:secret@db.test:5433/holdfast?sslmode=require") == "db.test:5433/holdfast"


def test_a_server_that_is_up_down_and_followed(
    whole_fleet: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del whole_fleet
    require("postgresql")
    with own_server() as server, fresh_database(server.url) as url:
        assert "No synchronous standby" in only(url).todo
        assert "holdfast fleet init" in only(server.url).todo
        with own_server(follows=server) as standby:
            name = url.partition("?")[0].rpartition("/")[2]
            found = only(in_database(standby.url, name))
            assert found.level == "fail"
            assert "It is a read-only standby" in found.todo
        server.stop()
        home = tmp_path / "home"
        home.mkdir(mode=0o700)
        code = main(["doctor", "--json"], {"HOLDFAST_HOME": str(home), "HOLDFAST_STORE": url})
        (down,) = [each for each in json.loads(capsys.readouterr().out) if each["name"] == "fleet"]
        assert (code, down["level"]) == (1, "fail")
        assert "did not answer or accept it for 3 s" in down["todo"]
        server.start()
        assert only(url).level == "warn"
