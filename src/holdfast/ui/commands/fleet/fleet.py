"""`holdfast fleet`: create the database of a fleet in PostgreSQL, and show its state."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping

import msgspec

from holdfast.errors import EXIT_OK
from holdfast.text import printable
from holdfast.ui.commands.fleet.worker import add_store, extra_missing, store_url
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.view.columns import age, count_noun


class _Arguments(argparse.Namespace):
    command: str
    store: str | None
    json: bool = False


def command_parser() -> Parser:
    """Return the parser of this command's options."""
    parser = Parser(prog="holdfast fleet", description="Create and watch the database of a fleet.", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", metavar="init|status", required=True, parser_class=Parser)
    add_store(commands.add_parser("init", help="create the database, or bring it up to date", allow_abbrev=False))
    status = commands.add_parser(
        "status", help="show workers, sessions by state, and waiting messages", allow_abbrev=False
    )
    add_store(status)
    status.add_argument("--json", action="store_true")
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Run the command and return the exit code."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    url = store_url(arguments.store, environ)
    return _init(url) if arguments.command == "init" else _status(url, as_json=arguments.json)


def _init(url: str) -> int:
    try:
        from holdfast.fleet.postgres.database import Database, checked_url
        from holdfast.fleet.postgres.schema import migrate, worker_role
        from holdfast.fleet.worker.engine import prepare_engine
    except ModuleNotFoundError as error:
        raise extra_missing(error) from error
    database = Database(checked_url(url))
    try:
        applied = migrate(database)
        prepare_engine(url, role=worker_role(database))
    finally:
        database.close()
    print("The fleet's database is ready." if applied else "The fleet's database is up to date.")
    print("Start workers with `holdfast worker`, and the service with `holdfast serve`, each with the same --store.")
    return EXIT_OK


def _status(url: str, *, as_json: bool) -> int:
    try:
        from holdfast.fleet.postgres.database import checked_url
        from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
    except ModuleNotFoundError as error:
        raise extra_missing(error) from error
    fleet = PostgresFleet(checked_url(url))
    try:
        status = fleet.status()
    finally:
        fleet.close()
    if as_json:
        print(json.dumps(msgspec.to_builtins(status), indent=2))
        return EXIT_OK
    print(f"{count_noun(len(status.workers), 'worker')} alive")
    for worker in status.workers:
        since = age(time.time() - worker.since)
        print(printable(f"  {worker.host}  pid {worker.pid}  {worker.holds} of {worker.slots} slots  {since}"))
    print("Sessions: " + ", ".join(f"{count} {state}" for state, count in status.sessions.items()))
    if status.oldest is not None:
        print(f"The oldest waiting message has waited {status.oldest:.0f} s.")
    for note in status.notes:
        print(note)
    return EXIT_OK
