"""A living worker gives back what it holds and does not drive, and leaves alone what it drives."""

from __future__ import annotations

import errno
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import psycopg
import pytest
from kept_open import close_all, close_later
from servers import fresh_database

from holdfast.errors import StateError, StorageFailed
from holdfast.fleet.postgres.claims import NotTaken, PostgresHeldSession, take
from holdfast.fleet.postgres.database import Database, ServerAway
from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
from holdfast.fleet.worker.worker import DroppedWork, is_passing

NEVER = 3600.0


@dataclass
class Seen:
    """One worker of the record, with what it says that it does."""

    url: str
    worker: str = field(default_factory=lambda: uuid.uuid4().hex)
    driven: set[str] = field(default_factory=set[str])
    looking: set[str] = field(default_factory=set[str])
    cancelled: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.database = close_later(Database(self.url, patience=2.0))
        self.database.call("select holdfast.be_born(%s, 60, '{}'::jsonb)", self.worker)
        self.fleet = close_later(PostgresFleet(self.url))
        self.dropped = DroppedWork(
            Database(self.url, patience=2.0),
            self.worker,
            every=NEVER,
            driven=lambda: self.driven,
            looking=lambda: self.looking,
            cancel=self._cancel,
            notify=self.notes.append,
        )

    def _cancel(self, workflows: Collection[str]) -> None:
        self.cancelled.extend(workflows)

    def held(self, worker: str = "") -> PostgresHeldSession:
        """Return a new session that the worker has taken."""
        session = self.fleet.create(model="m", place={"cwd": "/"}, sender="t")
        claim = take(self.url, session, worker or self.worker)
        assert isinstance(claim, PostgresHeldSession)
        return close_later(claim)


@pytest.fixture
def seen(server_url: str) -> Iterator[Seen]:
    with fresh_database(server_url, engine=True) as url:
        found = Seen(url)
        try:
            yield found
        finally:
            found.dropped.end()
            close_all()


def test_what_is_held_and_not_driven_is_given_back_at_the_second_look(seen: Seen) -> None:
    dropped, driven = seen.held(), seen.held()
    seen.driven.add(driven.id)
    seen.dropped.check()
    assert seen.fleet.session(dropped.id).holder == seen.worker, "it may have been taken in this moment"
    seen.dropped.check()
    assert seen.fleet.session(dropped.id).holder == ""
    assert seen.fleet.session(dropped.id).state == "waiting", "another worker looks at it"
    assert seen.fleet.session(dropped.id).tries == 0, "no worker died in it"
    assert seen.fleet.session(driven.id).holder == seen.worker
    assert seen.notes == [f"session {dropped.id} was held and not driven: given back"]


def test_a_session_that_was_taken_again_in_between_is_left_alone(seen: Seen) -> None:
    first = seen.held()
    seen.dropped.check()
    again = take(seen.url, first.id, seen.worker)
    assert isinstance(again, PostgresHeldSession)
    close_later(again)
    seen.dropped.check()
    assert seen.fleet.session(first.id).holder == seen.worker, "under its new lease it was seen once only"
    assert again.waiting_rows() == ()
    lease = seen.database.call("select lease::text from holdfast.session where id = %s", first.id)[0][0]
    assert not seen.database.call("select holdfast.let_go(%s, %s, %s::uuid)", "another", first.id, lease)[0][0]
    assert not seen.database.call("select holdfast.let_go(%s, %s, gen_random_uuid())", seen.worker, first.id)[0][0]


def test_looks_that_no_longer_run_are_cancelled_at_the_second_look(seen: Seen) -> None:
    seen.database.call(
        "insert into dbos.workflow_status (workflow_uuid, status, name, executor_id) select v, 'PENDING', 'look', w "
        "from (values ('runs', %s), ('ended', %s), ('of another', 'x')) as t (v, w)",
        seen.worker,
        seen.worker,
    )
    seen.looking.add("runs")
    seen.dropped.check()
    assert seen.cancelled == []
    seen.dropped.check()
    assert seen.cancelled == ["ended"]


def test_the_sessions_of_a_run_that_ended_by_itself_are_given_back_uncounted(seen: Seen) -> None:
    mine, others = seen.held(), Seen(seen.url)
    try:
        theirs = others.held()
        assert seen.database.call("select holdfast.let_all_go(%s)", seen.worker)[0][0] == 0, "it lives"
        seen.database.call("select holdfast.bury(%s)", seen.worker)
        assert seen.database.call("select holdfast.let_all_go(%s)", seen.worker)[0][0] == 1
        taken = take(seen.url, mine.id, others.worker)
        assert isinstance(taken, PostgresHeldSession)
        close_later(taken)
        assert (taken.tries, taken.crashed) == (0, False)
        assert isinstance(take(seen.url, theirs.id, seen.worker), NotTaken)
    finally:
        others.dropped.end()


REFUSED = {
    "select 1/0": False,
    "select * from holdfast.nothing": False,
    "do $$ begin raise exception 'read' using errcode = '25006'; end $$": True,
    "do $$ begin raise exception 'full' using errcode = '53100'; end $$": True,
    "do $$ begin raise exception 'many' using errcode = '53300'; end $$": True,
    "do $$ begin raise exception 'dead' using errcode = '40P01'; end $$": True,
    "do $$ begin raise exception 'twice' using errcode = '40001'; end $$": True,
    "do $$ begin raise exception 'ends' using errcode = '57P01'; end $$": True,
    "do $$ begin raise exception 'disk' using errcode = '58030'; end $$": True,
    "do $$ begin raise exception 'locked' using errcode = '55P03'; end $$": True,
    "do $$ begin raise exception 'time' using errcode = '57014'; end $$": True,
    "do $$ begin raise exception 'damaged' using errcode = 'XX001'; end $$": False,
    "do $$ begin raise exception 'rights' using errcode = '42501'; end $$": False,
}


@pytest.mark.parametrize("statement", REFUSED)
def test_a_fault_that_passes_differs_from_one_that_does_not(seen: Seen, statement: str) -> None:
    database = close_later(Database(seen.url, patience=0.2))
    with pytest.raises(StorageFailed) as caught:
        database.call(statement)  # pyright: ignore[reportArgumentType] - of the test
    assert is_passing(caught.value) is REFUSED[statement] is isinstance(caught.value, ServerAway)


def test_a_full_disk_keeps_the_connection_and_its_locks(seen: Seen) -> None:
    """A worker whose lock is free for a moment would be declared dead by a peer."""
    database = close_later(Database(seen.url, patience=0.2))
    before = database.call("select pg_backend_pid()")
    with pytest.raises(ServerAway):
        database.call("do $$ begin raise exception 'full' using errcode = '53100'; end $$")
    assert database.call("select pg_backend_pid()") == before


def test_local_faults_pass_by_their_number() -> None:
    def failed(cause: BaseException) -> StorageFailed:
        error = StorageFailed("no")
        error.__cause__ = cause
        return error

    for number, passes in ((errno.ENOSPC, True), (errno.EMFILE, True), (errno.EACCES, False), (errno.EROFS, False)):
        assert is_passing(OSError(number, "x")) is passes
        assert is_passing(failed(OSError(number, "x"))) is passes
    assert not is_passing(StateError("x"))
    assert not is_passing(failed(psycopg.Error("x")))
