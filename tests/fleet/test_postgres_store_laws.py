"""The laws of a store, of PostgreSQL: the shared ones, fencing, doubt, and that nothing is changed afterwards."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from cut_wires import WireCutter
from kept_open import close_all, close_later
from servers import own_server

from holdfast.errors import AppendConflict, LeaseLost, SessionUnknown, StorageFailed
from holdfast.fleet.postgres.claims import NotTaken, PostgresHeldSession, take
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
from holdfast.fleet.postgres.schema import migrate
from holdfast.fleet.record import FleetSummary
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Store, StreamingStore
from holdfast.testing.store_checks import check_store
from skips import require


def prompt(text: str, message: str = "") -> e.PromptAccepted:
    return e.PromptAccepted(turn=1, text=text, queued=message)


def born(url: str, *, ttl: float = 60.0, description: str = "{}") -> str:
    worker, database = uuid.uuid4().hex, Database(url)
    database.call("select holdfast.be_born(%s, %s, %s::jsonb)", worker, ttl, description)
    database.close()
    return worker


def take_session(url: str, session: str, worker: str) -> PostgresHeldSession:
    held_session = take(url, session, worker)
    assert isinstance(held_session, PostgresHeldSession), held_session
    return close_later(held_session)


def bury(url: str, worker: str) -> None:
    close_later(Database(url)).call("select holdfast.bury(%s)", worker)


@dataclass
class Harness:
    url: str
    worker: str
    session: str

    def open(self) -> Store:
        return take_session(self.url, self.session, self.worker).store


def added(url: str) -> str:
    session = f"s-{uuid.uuid4().hex[:12]}"
    fleet = PostgresFleet(url)
    assert fleet.add(session, place={}, summary=FleetSummary())
    fleet.close()
    return session


def test_it_is_a_store(store_url: str) -> None:
    worker = born(store_url)
    check_store(lambda: Harness(store_url, worker, added(store_url)))


@pytest.mark.parametrize("after_its_first_append", [False, True])
def test_a_writer_whose_successor_has_the_lease_writes_nothing(store_url: str, *, after_its_first_append: bool) -> None:
    session, first, second = added(store_url), born(store_url), born(store_url)
    old = take_session(store_url, session, first)
    old.store.append([prompt("one")], expected=0)
    busy = take(store_url, session, second)
    assert busy == NotTaken("busy", first)
    bury(store_url, first)
    new = take_session(store_url, session, second)
    assert new.crashed
    if after_its_first_append:
        new.store.append([prompt("of the successor")], expected=1)
    with pytest.raises(LeaseLost, match="taken over"):
        old.store.append([prompt("of a zombie")], expected=1)
    assert new.store.read().records[0].entry == prompt("one")
    assert new.store.length == 1 + after_its_first_append


def test_who_was_declared_dead_stays_dead_and_takes_nothing(store_url: str) -> None:
    session, worker = added(store_url), born(store_url)
    bury(store_url, worker)
    database = close_later(Database(store_url))
    assert database.call("select holdfast.beat(%s, 60)", worker) == [(False,)]
    assert take(store_url, session, worker) == NotTaken("dead", worker)


@pytest.mark.usefixtures("whole_fleet")
def test_one_of_eight_takers_takes(store_url: str) -> None:
    workers = [born(store_url) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(12):
            session, barrier = added(store_url), threading.Barrier(8)

            def race(worker: str, session: str = session, barrier: threading.Barrier = barrier) -> object:
                barrier.wait()
                return take(store_url, session, worker)

            found = list(pool.map(race, workers))
            assert sum(isinstance(each, PostgresHeldSession) for each in found) == 1
            for each in found:
                if isinstance(each, PostgresHeldSession):
                    each.close()


def test_a_tail_that_is_not_the_servers_is_refused(store_url: str) -> None:
    session, worker = added(store_url), born(store_url)
    held_session = take_session(store_url, session, worker)
    held_session.store.append([prompt("one")], expected=0)
    # What a failover does that had not yet the last commit: the same length, other content.
    close_later(Database(store_url)).script("update holdfast.session set sum = '\\x00' where id = %s", [session])
    with pytest.raises(AppendConflict):
        held_session.store.append([prompt("two")], expected=1)
    assert "not the one written" in held_session.store.read().findings[0].what


def test_an_entry_is_never_changed_or_deleted(store_url: str) -> None:
    session, worker = added(store_url), born(store_url)
    take_session(store_url, session, worker).store.append([prompt("one")], expected=0)
    for sql in ("update holdfast.entry set kind = 'x'", "delete from holdfast.entry", "truncate holdfast.entry"):
        with pytest.raises(StorageFailed, match="never changed"):
            close_later(Database(store_url)).script(sql)


def test_a_row_is_done_in_the_transaction_of_its_entry(store_url: str) -> None:
    fleet, session, worker = close_later(PostgresFleet(store_url)), added(store_url), born(store_url)
    row = fleet.ask(session, "prompt", {"text": "go"}, key="k", sender="ana")
    assert row.new
    assert not fleet.ask(session, "prompt", {"text": "other"}, key="k", sender="ana").new
    held_session = take_session(store_url, session, worker)
    assert [each.body for each in held_session.waiting_rows()] == [{"text": "go"}]
    held_session.expect(row)
    accepted = prompt("go", held_session.name_of(row))
    held_session.store.append([e.FilesChanged(files=(), note=""), accepted], expected=0)
    assert held_session.waiting_rows() == ()
    (done,) = fleet.inbox(session)
    assert done.seq == 2
    assert done.done is not None
    assert done.sender == "ana"
    assert held_session.release({})
    assert fleet.session(session).title == "go"


def test_a_key_belongs_to_one_sender_and_one_kind(store_url: str) -> None:
    fleet, session, other = close_later(PostgresFleet(store_url)), added(store_url), added(store_url)
    rows = [
        fleet.ask(session, "prompt", {"text": "a"}, key="k", sender="ana"),
        fleet.ask(session, "prompt", {"text": "b"}, key="k", sender="ben"),
        fleet.ask(session, "stop", {}, key="k", sender="ana"),
        fleet.ask(other, "prompt", {"text": "c"}, key="k", sender="ana"),
    ]
    assert [(each.new, each.kind, each.sender) for each in rows] == [
        (True, "prompt", "ana"),
        (True, "prompt", "ben"),
        (True, "stop", "ana"),
        (True, "prompt", "ana"),
    ]
    again = fleet.ask(session, "stop", {}, key="k", sender="ana")
    assert (again.new, again.id, again.kind) == (False, rows[2].id, "stop")


def test_nothing_new_in_a_session_is_no_unknown_session(store_url: str) -> None:
    """A watcher reads on from the last entry and the last row that it saw, also before there are any."""
    fleet, session = close_later(PostgresFleet(store_url)), added(store_url)
    assert fleet.entries(session) == ()
    assert fleet.inbox(session) == ()
    row = fleet.ask(session, "prompt", {"text": "go"})
    assert [each.id for each in fleet.inbox(session, after=row.id - 1)] == [row.id]
    assert fleet.inbox(session, after=row.id) == ()
    for read in (fleet.entries, fleet.inbox):
        with pytest.raises(SessionUnknown, match="is not in the fleet"):
            read("none")


def test_it_is_not_given_back_while_a_row_waits(store_url: str) -> None:
    fleet, session, worker = close_later(PostgresFleet(store_url)), added(store_url), born(store_url)
    fleet.ask(session, "prompt", {"text": "go"})
    held_session = take_session(store_url, session, worker)
    assert fleet.session(session).state == "running"
    assert not held_session.release({})
    assert held_session.release({}, requeue=True)
    assert fleet.session(session).state == "waiting"


@pytest.mark.usefixtures("whole_fleet")
def test_a_crash_of_the_server_during_appends_loses_and_doubles_nothing() -> None:
    require("postgresql")
    with own_server() as server:
        database = Database(server.url)
        migrate(close_later(database))
        session, worker = added(server.url), born(server.url)
        held_session = take_session(server.url, session, worker)
        over, failed = threading.Event(), list[BaseException]()

        def crash() -> None:
            try:
                for _ in range(2):
                    over.wait(0.4)
                    server.restart()
            except BaseException as error:  # noqa: BLE001 - asserted below
                failed.append(error)
            finally:
                over.set()

        crasher = threading.Thread(target=crash)
        crasher.start()
        count = 0
        while crasher.is_alive():
            held_session.store.append([prompt(f"{count}")], expected=count)
            count += 1
        crasher.join()
        assert not failed
        reading = held_session.store.read()
        assert not reading.findings
        assert [record.entry for record in reading.records] == [prompt(f"{number}") for number in range(count)]
        close_all()


@pytest.mark.usefixtures("whole_fleet")
@pytest.mark.skipif("HOLDFAST_TEST_PG" in os.environ, reason="the proxy needs a server on a Unix socket")
def test_a_wire_that_is_cut_anywhere_in_the_answer_loses_and_doubles_nothing(store_url: str) -> None:
    session, worker = added(store_url), born(store_url)
    host = parse_qs(urlsplit(store_url).query)["host"][0]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        proxy = WireCutter(Path(folder), f"{host}/.s.PGSQL.5432")
        held_session = take_session(store_url.replace(host, folder), session, worker)
        cuts = 40
        for number in range(cuts):
            proxy.cut_after(number * 2)  # an answer has about 70 bytes
            held_session.store.append([prompt(f"{number}")], expected=number)
        reading = held_session.store.read()
        close_all()
        proxy.close()
    assert not reading.findings
    assert [record.entry for record in reading.records] == [prompt(f"{number}") for number in range(cuts)]
    assert proxy.cuts > cuts // 2


@pytest.mark.skipif("HOLDFAST_TEST_PG" in os.environ, reason="it makes users of the server")
def test_a_service_asks_and_reads_and_a_worker_changes_nothing_that_was_written(store_url: str) -> None:
    fleet, session = close_later(PostgresFleet(store_url)), added(store_url)
    fleet.ask(session, "prompt", {"text": "go"})
    owner = close_later(Database(store_url))
    for role, may_append in (("holdfast_service", False), ("holdfast_worker", True)):
        user = f"test_{uuid.uuid4().hex[:8]}"
        owner.script(f"create role {user} login in role {role}")
        try:
            mine = close_later(Database(store_url.replace("holdfast@", f"{user}@")))
            assert mine.call("select id from holdfast.session") == [(session,)]
            assert mine.call("select fresh from holdfast.ask(%s, 'stop', '{}', 'k', 'x')", session) != []
            for sql in (
                "update holdfast.session set length = 9",
                "delete from holdfast.entry",
                "insert into holdfast.inbox (session, kind, body, key) values ('s', 'stop', '{}', 'z')",
                "drop trigger entry_is_final on holdfast.entry",
            ):
                with pytest.raises(StorageFailed, match=r"permission denied|must be owner"):
                    mine.script(sql)
            born_here = "select holdfast.be_born(%s, 60, '{}')"
            if may_append:
                mine.call(born_here, user)
            else:
                with pytest.raises(StorageFailed, match="permission denied"):
                    mine.call(born_here, user)
            mine.close()
        finally:
            owner.script(f"drop role {user}")


def test_streamed_text_is_journalled_once_a_second(store_url: str) -> None:
    """It keeps no text outside the journal: a worker that is killed may cost the last second of it."""
    assert not isinstance(Harness(store_url, born(store_url), added(store_url)).open(), StreamingStore)
