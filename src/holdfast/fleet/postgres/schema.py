"""The schema of the record: numbered SQL files, applied in order, each once, under an advisory lock."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple, cast

import msgspec

from holdfast.errors import StateError
from holdfast.fleet.postgres.database import Database

_LOCK = 7203
_FORMAT = """
select pg_advisory_xact_lock({lock});
create schema if not exists holdfast;
create table if not exists holdfast.format (number int primary key, name text not null, at timestamptz default now());
"""


class Migration(NamedTuple):
    """One numbered step of the schema."""

    number: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Return the steps in order."""
    folder = files("holdfast.fleet.postgres") / "migrations"
    found = [each for each in folder.iterdir() if each.name.endswith(".sql")]
    return sorted(
        Migration(int(each.name[:4]), each.name.removesuffix(".sql"), each.read_text("utf-8")) for each in found
    )


def migrate(database: Database) -> list[str]:
    """Bring the schema up to date and return the names of the applied steps. May run in two processes at once."""
    applied: list[str] = []
    lock = _FORMAT.format(lock=_LOCK)
    database.script(lock)
    for step in migrations():
        done = database.script(
            f"{lock} select number from holdfast.format where number = {step.number};"  # noqa: S608 - a constant
        )
        if done:
            continue
        try:
            database.script(
                f"{lock}\ninsert into holdfast.format (number, name) values ({step.number}, '{step.name}');\n{step.sql}"
            )
        except StateError:
            if database.script(f"select number from holdfast.format where number = {step.number};"):  # noqa: S608 - likewise
                continue  # another process was faster
            raise
        applied.append(step.name)
    return applied


def worker_role(database: Database) -> str | None:
    """Return the role of workers, None if the database has none because its user may not create roles."""
    found = database.call("select rolname from pg_roles where rolname = 'holdfast_worker'")
    return "holdfast_worker" if found else None


def require_schema(database: Database) -> None:
    """Raise `StateError` unless the schema is that of this version."""
    there = database.call("select to_regclass('holdfast.format') is not null")
    if not there[0][0]:
        raise StateError("The database has no record of a fleet yet. Run `holdfast fleet init --store URL` first.")
    found = {row[0] for row in database.call("select number from holdfast.format")}
    known = {step.number for step in migrations()}
    if known - found:
        raise StateError(
            "The record of the fleet is older than this holdfast. Run `holdfast fleet init --store URL` to bring it "
            "up to date."
        )
    if found - known:
        raise StateError("A newer holdfast made the record of this fleet. Update holdfast here.")


# --- The health of a PostgreSQL server: whether a fleet can use it, and whether its commits survive a crash ---

_ANSWERS_WITHIN = 3.0


class ServerHealth(msgspec.Struct, frozen=True, kw_only=True):
    """The health of a record's server. `problem` says why the record cannot be used, "" if it can.

    `is_standby` is whether the server only follows another one and accepts no writes, `syncs` whether it syncs commits
    to disk, `has_standby` whether commits wait for a second server.
    """

    version: str
    problem: str = ""
    is_standby: bool = False
    syncs: bool = True
    has_standby: bool = False
    workers: int = 0


def server_health(url: str) -> ServerHealth:
    """Return the health of a store's server; raises `StorageFailed` if it does not answer."""
    database = Database(url, patience=_ANSWERS_WITHIN, name="holdfast doctor")
    try:
        version, standby, syncs, names = database.call(
            "select current_setting('server_version'), pg_is_in_recovery(), current_setting('fsync') = 'on', "
            "current_setting('synchronous_standby_names')"
        )[0]
        health = ServerHealth(
            version=str(version), is_standby=bool(standby), syncs=bool(syncs), has_standby=bool(names)
        )
        try:
            require_schema(database)
        except StateError as error:
            return msgspec.structs.replace(health, problem=str(error))
        workers = database.call("select count(*) from holdfast.worker where until > clock_timestamp()")[0][0]
        return msgspec.structs.replace(health, workers=cast("int", workers))
    finally:
        database.close()
