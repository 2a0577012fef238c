"""The schema of the record: numbered SQL files, applied in order, each once, under an advisory lock."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

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
