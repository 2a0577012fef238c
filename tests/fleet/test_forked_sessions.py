"""A program that holds a session in PostgreSQL and forks: the child can do nothing with it, and the parent goes on."""

from __future__ import annotations

from test_postgres_store_laws import added, born, prompt, take_session

from holdfast.fleet.postgres.claims import take
from journal_files import program
from polling import HANGS

_FORKS = """
import gc, os, sys
from holdfast.errors import HoldfastError
from holdfast.fleet.postgres.claims import take
from holdfast.fleet.postgres.database import Database
from holdfast.session.journal.entries import PromptAccepted
url, session, worker = sys.argv[1:]
held = take(url, session, worker)
def add(text):
    held.store.append([PromptAccepted(turn=1, text=text)], expected=held.store.length)
add("one")
backend = held._database.call("select pg_backend_pid()")[0][0]
child = os.fork()
if child == 0:
    uses = {
        "append": lambda: held.store.append([PromptAccepted(turn=1, text="child")], expected=1),
        "append nothing": lambda: held.store.append([], expected=1),
        "read": lambda: held.store.read(),
        "length": lambda: held.store.length,
        "add rows": lambda: held.store.add_rows([], None),
        "inbox": lambda: held.waiting_rows(),
        "place": lambda: held.put_place({"child": True}),
        "release": lambda: held.release(),
        "move": lambda: held.move_away("child"),
    }
    for name, use in uses.items():
        try:
            use()
        except HoldfastError as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        else:
            print(f"{name}: done", flush=True)
    held.close()
    uses.clear()
    del held, uses
    gc.collect()
    database = Database(url)  # of the child's own
    print(f"own connection: {database.call('select 1')[0][0]}", flush=True)
    database.close()
    sys.exit(0)  # an exit in order: every object is finalized
_, status = os.waitpid(child, 0)
print(f"child ended with {status}", flush=True)
add("two")
same = backend == held._database.call("select pg_backend_pid()")[0][0]
print(f"parent: {held.store.length}, the same connection: {same}", flush=True)
os.kill(os.getpid(), 9)
"""


def test_every_use_in_the_child_is_refused_and_the_parent_goes_on(store_url: str) -> None:
    session, worker = added(store_url), born(store_url)
    with program(_FORKS, store_url, session, worker) as process:
        lines = process.communicate(timeout=HANGS)[0].splitlines()
    *refused, own, ended, parent = lines
    uses = ("append", "append nothing", "read", "length", "add rows", "inbox", "place", "release", "move")
    assert [line.split(": ")[:2] for line in refused] == [[use, "StateError"] for use in uses]
    for line in refused:
        assert f"cannot be used in a forked process: process {process.pid} opened it before the fork" in line
    assert (own, ended, parent) == ("own connection: 1", "child ended with 0", "parent: 2, the same connection: True")
    busy = take(store_url, session, born(store_url))
    assert getattr(busy, "verdict", "taken") == "busy"  # the child gave up no lease
    held = take_session(store_url, session, worker)
    assert [record.entry for record in held.store.read().records] == [prompt("one"), prompt("two")]
