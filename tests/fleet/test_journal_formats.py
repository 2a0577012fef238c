"""Journals of older and newer formats in PostgreSQL: the first append raises one; older workers read why not."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest
from kept_open import close_later
from servers import fresh_database
from test_postgres_store_laws import added, born, bury, prompt, take_session

from holdfast.errors import AppendConflict, StateError, StorageFailed
from holdfast.fleet.postgres.claims import NotTaken, take
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.moves import pull, push
from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
from holdfast.fleet.postgres.schema import migrate, migrations
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import FORMAT, Entry, RequestsChanged, ServerFailed, encode, kind
from holdfast.session.storage.row_codec import checksum
from holdfast.session.storage.sqlite_store import complete_rows
from holdfast.testing.store_checks import EXAMPLES

FAILED = ServerFailed(server="trip", reason="it exited")
JOURNALS = Path(__file__).parents[1] / "faults/journals"
STEP = 6
"""The number of the step that gives sessions a format."""

_OLD_APPEND = (
    "select holdfast.append(%s, %s::uuid, %s, %s, %s::float8[], %s::text[], %s::bytea[], %s::bytea[], "
    "'{}'::bigint[], '{}'::int[], '{}'::jsonb, false)"
)


def format_of(url: str, session: str) -> object:
    return close_later(Database(url)).call("select format from holdfast.session where id = %s", session)[0][0]


class OlderWorker:
    """What a worker of format 1 sends: `take` and `append` without the format that it knows."""

    def __init__(self, url: str) -> None:
        self._database = close_later(Database(url))
        self.id = born(url)
        self._length, self._link, self._lease = 0, b"", ""

    def take(self, session: str) -> tuple[object, object]:
        ((verdict, lease, length, link, *_, holder),) = self._database.call(
            "select * from holdfast.take(%s, %s)", session, self.id
        )
        assert isinstance(length, int)
        assert isinstance(link, bytes)
        self._length, self._link, self._lease = length, link, str(lease)
        return verdict, holder

    def append(self, session: str, entries: Sequence[Entry]) -> object:
        sums: list[bytes] = []
        for seq, entry in enumerate(entries, start=self._length + 1):
            sums.append(checksum(sums[-1] if sums else self._link, seq, 1.0, kind(entry), encode(entry)))
        verdict = self._database.once(
            _OLD_APPEND,
            session,
            self._lease,
            self._length,
            self._link,
            [1.0] * len(entries),
            [kind(entry) for entry in entries],
            [encode(entry) for entry in entries],
            sums,
        )[0][0]
        if verdict == "ok":
            self._length, self._link = self._length + len(entries), sums[-1]
        return verdict


def test_a_record_of_before_is_read_and_its_first_append_raises_the_session(server_url: str, tmp_path: Path) -> None:
    old = [entry for entry in EXAMPLES if not isinstance(entry, ServerFailed | RequestsChanged)]
    with fresh_database(server_url) as url:
        database = close_later(Database(url))
        database.script("drop schema holdfast cascade")
        earlier = [step for step in migrations() if step.number < STEP]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("holdfast.fleet.postgres.schema.migrations", lambda: earlier)
            migrate(database)
        worker = OlderWorker(url)
        session = "20261128-0900-form"
        database.call("select holdfast.make_session(%s, '{}', '{}')", session)
        assert worker.take(session) == ("taken", "")
        assert worker.append(session, old) == "ok"
        bury(url, worker.id)
        migrate(database)
        fleet = close_later(PostgresFleet(url))
        assert [each.entry for each in fleet.reading(session).records] == old
        held = take_session(url, session, born(url))
        assert [each.entry for each in held.store.read().records] == old
        with pytest.raises(AppendConflict):
            held.store.append([FAILED], expected=1)
        assert format_of(url, session) == 1, "nothing was appended"
        held.store.append([FAILED], expected=len(old))
        assert format_of(url, session) == FORMAT
        assert [each.entry for each in held.store.read().records] == [*old, FAILED]
        assert held.store.read().findings == ()
        assert held.release({})
        catalog = Catalog(tmp_path)
        assert pull(catalog, session, fleet) == len(old) + 1


def test_an_append_that_is_not_committed_raises_nothing(store_url: str) -> None:
    session, worker = added(store_url), born(store_url)
    with psycopg.connect(store_url) as connection:  # ends with a rollback, as a killed worker's connection does
        ((lease,),) = connection.execute("select lease from holdfast.take(%s, %s, 2)", (session, worker)).fetchall()
        row = (session, lease, "x", encode(prompt("x")), b"s")
        sql = (
            "select holdfast.append(%s, %s, 0, '', '{1}', array[%s], array[%s]::bytea[], array[%s]::bytea[], '{}', "
            "'{}', '{}', false, 2)"
        )
        assert connection.execute(sql, row).fetchall() == [("ok",)]
        assert connection.execute("select format from holdfast.session where id = %s", (session,)).fetchall() == [(2,)]
        connection.rollback()
    assert format_of(store_url, session) == 1
    assert close_later(PostgresFleet(store_url)).reading(session).records == ()


def test_an_older_worker_continues_older_sessions_and_is_refused_newer_ones(store_url: str) -> None:
    older, session, newer = OlderWorker(store_url), added(store_url), added(store_url)
    take_session(store_url, newer, born(store_url)).store.append([FAILED], expected=0)
    database = close_later(Database(store_url))
    database.script("update holdfast.session set holder = null, lease = null where id = %s", [newer])

    assert older.take(session) == ("taken", "")
    assert older.append(session, [prompt("one")]) == "ok"
    assert format_of(store_url, session) == 1
    verdict, why = older.take(newer)
    assert verdict == "held"
    assert f"written by a newer holdfast (format {FORMAT}, expected at most 1)" in str(why)
    database.script("update holdfast.session set format = 2 where id = %s", [session])
    assert older.take(session)[0] == "held"


def test_an_older_worker_that_still_has_the_lease_appends_nothing_to_a_newer_session(store_url: str) -> None:
    older, session = OlderWorker(store_url), added(store_url)
    older.take(session)
    close_later(Database(store_url)).script("update holdfast.session set format = 2 where id = %s", [session])
    with pytest.raises(StorageFailed, match="written by a newer holdfast"):
        older.append(session, [prompt("one")])
    assert close_later(PostgresFleet(store_url)).reading(session).records == ()


def test_a_writer_of_before_whose_successor_raised_the_session_writes_nothing(store_url: str) -> None:
    older, session = OlderWorker(store_url), added(store_url)
    older.take(session)
    bury(store_url, older.id)
    new = take_session(store_url, session, born(store_url))
    new.store.append([FAILED], expected=0)
    assert older.append(session, [prompt("of a zombie")]) == "lost"
    assert [each.entry for each in new.store.read().records] == [FAILED]
    bury(store_url, new.previous_holder)


def test_a_session_of_a_newer_holdfast_is_refused_and_left_alone(store_url: str, tmp_path: Path) -> None:
    session, worker = added(store_url), born(store_url)
    held = take_session(store_url, session, worker)
    held.store.append([prompt("one")], expected=0)
    assert held.release({})
    database = close_later(Database(store_url))
    database.script("update holdfast.session set format = %s where id = %s", [FORMAT + 1, session])
    fleet = close_later(PostgresFleet(store_url))
    said = rf"written by a newer holdfast \(format {FORMAT + 1}, expected at most {FORMAT}\).*Upgrade"
    claim = take(store_url, session, worker)
    assert isinstance(claim, NotTaken)
    assert claim.verdict == "newer"
    with pytest.raises(StateError, match=said):
        fleet.reading(session)
    with pytest.raises(StateError, match=said):
        pull(Catalog(tmp_path), session, fleet)
    assert [each.entry for each in fleet.entries(session)] == [prompt("one")], "what can be read is shown"
    assert not list(tmp_path.iterdir())


def test_a_pushed_journal_of_an_older_format_is_of_this_one_there(store_url: str, tmp_path: Path) -> None:
    catalog, fleet = Catalog(tmp_path), close_later(PostgresFleet(store_url))
    session = "format-1-last-closed"
    shutil.copytree(JOURNALS / session, catalog.folder(session))
    before = complete_rows(catalog.folder(session))
    assert push(catalog, session, fleet, place={"kind": "folder", "cwd": "/srv"}) == len(before)
    assert format_of(store_url, session) == FORMAT
    assert pull(catalog, session, fleet) == len(before)
    assert complete_rows(catalog.folder(session)) == before
