"""A session moves between its folder and a fleet: the same entries, sums and id, and never in no place."""

from __future__ import annotations

from pathlib import Path

import pytest
from kept_open import close_later

from holdfast.errors import DamageError, SessionBusy, SessionUnknown, UsageError
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.moves import back_up, pull, push
from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
from holdfast.fleet.record import FleetSummary
from holdfast.session.catalog import Catalog
from holdfast.session.journal import entries as e
from holdfast.session.journal.entries import FORMAT
from holdfast.session.storage.sqlite_store import SqliteStore, complete_rows, read_copy
from holdfast.testing.store_checks import EXAMPLES

PLACE = {"kind": "folder", "cwd": "/srv/engine"}


def create_session(catalog: Catalog, *more: e.Entry) -> str:
    session = catalog.new_id()
    store = SqliteStore.create(catalog.folder(session))
    store.append([*EXAMPLES, e.PromptAccepted(turn=1, text="x" * 200_000), *more], expected=0)
    store.close()
    return session


def test_the_summary_of_a_session_has_the_folder_it_moved_to() -> None:
    moved = e.Moved(from_="/srv/engine", to="/srv/motor", by="resume", note="")
    assert FleetSummary(cwd="/srv/engine").after([moved]).cwd == "/srv/motor"


def test_push_pull_push(store_url: str, tmp_path: Path) -> None:
    catalog, fleet = Catalog(tmp_path / "sessions"), close_later(PostgresFleet(store_url))
    session = create_session(catalog)
    rows, before = complete_rows(catalog.folder(session)), read_copy(catalog.folder(session))

    assert push(catalog, session, fleet, place=PLACE) == len(rows)
    assert not catalog.folder(session).exists()
    assert fleet.reading(session) == before
    other = SqliteStore.create(catalog.folder(session))
    other.append([e.PromptAccepted(turn=1, text="another")], expected=0)
    other.close()
    with pytest.raises(UsageError, match="other entries"):
        push(catalog, session, fleet, place=PLACE)
    catalog.trash(session)

    assert pull(catalog, session, fleet) == len(rows)
    assert complete_rows(catalog.folder(session)) == rows
    assert catalog.find(session).cwd == "/srv/motor"
    with pytest.raises(SessionUnknown):
        fleet.session(session)
    with pytest.raises(SessionUnknown, match="pulled"):
        pull(catalog, session, fleet)

    store = SqliteStore.open(catalog.folder(session))
    store.append([e.PromptAccepted(turn=2, text="said here")], expected=len(rows))
    store.close()
    assert push(catalog, session, fleet, place=PLACE) == len(rows) + 1
    assert fleet.entries(session, after=len(rows))[0].entry == e.PromptAccepted(turn=2, text="said here")


def test_an_interrupted_push_is_finished_by_the_same_command(store_url: str, tmp_path: Path) -> None:
    catalog, fleet = Catalog(tmp_path / "sessions"), close_later(PostgresFleet(store_url))
    session = create_session(catalog)
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in catalog.folder(session).rglob("*"):
        if file.is_file():
            into = copy / file.relative_to(catalog.folder(session))
            into.parent.mkdir(exist_ok=True)
            into.write_bytes(file.read_bytes())
    push(catalog, session, fleet, place=PLACE)
    copy.rename(catalog.folder(session))  # as if the machine had died before the source was given up
    push(catalog, session, fleet, place=PLACE)
    assert not catalog.folder(session).exists()
    assert not fleet.reading(session).findings


def test_what_another_process_holds_does_not_move(store_url: str, tmp_path: Path) -> None:
    catalog, fleet = Catalog(tmp_path / "sessions"), close_later(PostgresFleet(store_url))
    session = create_session(catalog)
    store = SqliteStore.open(catalog.folder(session))
    with pytest.raises(SessionBusy):
        push(catalog, session, fleet, place=PLACE)
    store.close()
    push(catalog, session, fleet, place=PLACE)
    database = close_later(Database(store_url))
    database.call("select holdfast.be_born('w', 60, '{}')")
    database.call("select * from holdfast.take(%s, 'w', %s)", session, FORMAT)
    with pytest.raises(SessionBusy, match="worker w"):
        pull(catalog, session, fleet)
    assert not catalog.folder(session).exists()


def test_a_backup_has_each_session_whole_and_writes_only_what_changed(tmp_path: Path) -> None:
    catalog, target = Catalog(tmp_path / "sessions"), tmp_path / "backup"
    one, two = create_session(catalog), create_session(catalog)
    assert sorted(back_up(catalog, target)) == sorted([one, two])
    assert back_up(catalog, target) == []
    store = SqliteStore.open(catalog.folder(one))
    store.append([e.PromptAccepted(turn=2, text="more")], expected=store.length)
    assert back_up(catalog, target) == [one], "also while it is open"
    store.close()
    for session in (one, two):
        assert read_copy(target / session) == read_copy(catalog.folder(session))
    (target / two / "session.db").write_bytes(b"")
    with pytest.raises(DamageError):
        back_up(catalog, target)


def test_a_damaged_session_is_reported_once_the_others_are_in_the_backup(tmp_path: Path) -> None:
    catalog, target = Catalog(tmp_path / "sessions"), tmp_path / "backup"
    sessions = sorted(create_session(catalog) for _ in range(3))
    (catalog.folder(sessions[1]) / "session.db").write_bytes(b"")
    with pytest.raises(DamageError):
        back_up(catalog, target)
    assert sorted(each.id for each in Catalog(target).all()) == [sessions[0], sessions[2]]
