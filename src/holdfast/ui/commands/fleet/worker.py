"""`holdfast worker`: drive sessions of a fleet until a signal."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from holdfast.errors import EXIT_OK, StateError, UsageError
from holdfast.system.user_directories import homes
from holdfast.ui.startup.arguments import Arguments, Parser, add_settings

STORE_VARIABLE = "HOLDFAST_STORE"
_TRY_AGAIN = 1.0  # seconds


class WorkerArguments(Arguments):
    """The options of `holdfast worker`."""

    store: str | None = None
    slots: int = 16
    ttl: float = 15.0
    grace: float = 30.0
    host: str = ""
    root: list[str] | None = None


def command_parser() -> Parser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast worker",
        description="Drive the sessions of a fleet that have work, until SIGTERM.",
        allow_abbrev=False,
    )
    add_store(parser)
    add = parser.add_argument
    add("--slots", type=int, default=16, metavar="N", help="maximum sessions to drive at once (default: 16)")
    add(
        "--ttl",
        type=float,
        default=15.0,
        metavar="SECONDS",
        help="time after which other workers take over if it is cut off (default: 15)",
    )
    add(
        "--grace",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="time for running turns to end after SIGTERM (default: 30)",
    )
    add("--host", default="", metavar="NAME", help="name of this machine in the fleet (default: its host name)")
    add(
        "--root",
        action="append",
        metavar="DIR",
        help="allow sessions below this folder, too, not only below the working directory; repeatable",
    )
    add_settings(parser)
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Serve until a signal, and return the exit code. Raise `HoldfastError` if the database cannot be reached."""
    arguments = command_parser().parse_args(argv, namespace=WorkerArguments())
    if arguments.slots < 1 or arguments.ttl < 1 or arguments.grace < 0:
        raise UsageError("--slots and --ttl must be at least 1, and --grace not negative.")
    url = store_url(arguments.store, environ)
    try:
        from holdfast.fleet.places.local_places import LocalPlaces
        from holdfast.fleet.postgres.database import Database, ServerAway, checked_url
        from holdfast.fleet.postgres.schema import require_schema
        from holdfast.fleet.worker.worker import Worker
        from holdfast.ui.commands.fleet.session_agents import SessionAgents
    except ModuleNotFoundError as error:
        raise extra_missing(error) from error
    database = Database(checked_url(url))
    require_schema(database)
    database.close()
    state = homes(environ).sessions.with_name("fleet")
    host = arguments.host or os.uname().nodename
    roots = _roots(arguments)
    agents = SessionAgents(arguments, environ, folder_of=LocalPlaces(state, host=host, roots=roots).session_folder)
    ended = threading.Event()
    current: list[Worker] = []

    def drain(number: int, frame: object) -> None:
        del number, frame
        if ended.is_set():
            return
        ended.set()
        for worker in current:
            # Not on this thread: it may hold the lock that a drain needs.
            threading.Thread(target=worker.drain, name="drain").start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, drain)
    previous, has_begun = "", False
    while not ended.is_set():
        worker = Worker(
            url,
            make=agents,
            state=state,
            slots=arguments.slots,
            ttl=arguments.ttl,
            grace=arguments.grace,
            host=host,
            roots=roots,
            previous=previous,
            notify=_report,
        )
        current[:] = [worker]
        try:
            lost = worker.run()
        except ServerAway as error:
            if not has_begun:  # it never had a place: the address may be wrong
                raise
            _report(f"the fleet's database is away, and is tried again: {error}")
            ended.wait(_TRY_AGAIN)
            continue
        if not lost:
            break
        previous, has_begun = worker.id if worker.is_idle else "", True
    _report("ended; every session was released")
    return EXIT_OK


def _roots(arguments: WorkerArguments) -> tuple[Path, ...]:
    """Return the folders below which sessions may work. `/` must be named: a service manager starts programs there."""
    here = Path(arguments.cwd or ".").resolve()
    listed = [Path(each).expanduser().resolve() for each in arguments.root or ()]
    for each in listed:
        if not each.is_dir():
            raise UsageError(f"--root {str(each)!r} is not a folder. Pass an existing one.")
    roots = (*((here,) if arguments.cwd or here != Path("/") else ()), *listed)
    _report(f"sessions may work below: {', '.join(map(str, roots)) or 'no folder here; pass --root'}")
    return roots


def store_url(option: str | None, environ: Mapping[str, str]) -> str:
    """Return the address of the database, from --store or HOLDFAST_STORE. Raise `UsageError` if neither is set."""
    url = option or environ.get(STORE_VARIABLE, "")
    if not url:
        raise UsageError(f"No database given. Pass --store postgresql://USER@HOST/DATABASE, or set {STORE_VARIABLE}.")
    return url


def extra_missing(error: ModuleNotFoundError) -> StateError:
    """Return the error for a package of the extra that is not installed."""
    return StateError(f"Package {error.name!r} is not installed. Install the extra: pip install 'holdfast[fleet]'.")


def add_store(parser: Parser) -> None:
    """Add the option for the fleet's database."""
    parser.add_argument(
        "--store", metavar="URL", help=f"the fleet's database, postgresql://… (default: {STORE_VARIABLE})"
    )


def _report(text: str) -> None:
    print(f"holdfast worker: {text}", file=sys.stderr, flush=True)
