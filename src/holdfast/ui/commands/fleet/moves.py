"""`holdfast sessions push|pull|backup`, and `sessions verify --store`."""

from __future__ import annotations

import argparse
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from holdfast.errors import EXIT_DAMAGE, EXIT_OK, UsageError
from holdfast.session.catalog import Catalog
from holdfast.ui.commands.fleet.worker import STORE_VARIABLE, extra_missing, store_url
from holdfast.ui.commands.sessions import MoveArguments
from holdfast.ui.startup.arguments import Parser

if TYPE_CHECKING:
    from holdfast.fleet.postgres.postgres_fleet import PostgresFleet


def add_moves(commands: argparse._SubParsersAction[Parser]) -> None:  # pyright: ignore[reportPrivateUsage] - argparse has no public name
    """Add the options of these commands."""
    store = {"metavar": "URL", "help": f"the fleet's database, postgresql://… (default: {STORE_VARIABLE})"}
    for name, help_text in (("push", "move a session into a fleet"), ("pull", "move a session of a fleet here")):
        add = commands.add_parser(name, help=help_text, allow_abbrev=False)
        if name == "push":
            add.add_argument("session", metavar="ID", help="session ID or unique prefix")
        else:
            add.add_argument("session", metavar="FLEET-ID", help="session ID")
        add.add_argument("--store", metavar=store["metavar"], help=store["help"])
        if name == "push":
            add.add_argument("--repo", metavar="URL", help="work in a git worktree of this repository, on any machine")
            add.add_argument("--base", default="", metavar="BRANCH", help="with --repo: the branch to start from")
    add = commands.add_parser("backup", help="copy every changed session into a folder", allow_abbrev=False)
    add.add_argument("folder", metavar="DIR")
    commands.choices["verify"].add_argument("--store", metavar="URL", help="check every session of this fleet")


def main(arguments: MoveArguments, *, catalog: Catalog, environ: Mapping[str, str], stdout: TextIO) -> int:
    """Run one of these commands and return its exit code."""
    if arguments.command == "backup":
        return _backup(catalog, arguments.folder, stdout)
    fleet = _fleet(store_url(arguments.store, environ))
    try:
        match arguments.command:
            case "push":
                return _push(fleet, catalog, arguments, stdout)
            case "pull":
                return _pull(fleet, catalog, arguments, stdout)
            case _:
                return _verify(fleet, arguments.session, stdout)
    finally:
        fleet.close()


def _fleet(url: str) -> PostgresFleet:
    try:
        from holdfast.fleet.postgres.database import checked_url
        from holdfast.fleet.postgres.postgres_fleet import PostgresFleet
    except ModuleNotFoundError as error:
        raise extra_missing(error) from error
    return PostgresFleet(checked_url(url))


def _push(fleet: PostgresFleet, catalog: Catalog, arguments: MoveArguments, stdout: TextIO) -> int:
    from holdfast.fleet.places.outside_values import checked_place
    from holdfast.fleet.postgres.moves import push

    summary = catalog.find(arguments.session, free=True)
    place: dict[str, object] = {"kind": "folder", "cwd": summary.cwd, "host": socket.gethostname()}
    if arguments.repo:
        place = checked_place({"kind": "worktree", "repo": arguments.repo, "base": arguments.base})
    count = push(catalog, summary.id, fleet, place=place)
    print(f"Moved session {summary.id} into the fleet: {count} entries. The folder here is in the trash.", file=stdout)
    return EXIT_OK


def _pull(fleet: PostgresFleet, catalog: Catalog, arguments: MoveArguments, stdout: TextIO) -> int:
    from holdfast.fleet.postgres.moves import pull

    count = pull(catalog, arguments.session, fleet)
    print(
        f"Moved session {arguments.session} here: {count} entries. Continue: holdfast -r {arguments.session}",
        file=stdout,
    )
    return EXIT_OK


def _verify(fleet: PostgresFleet, session: str, stdout: TextIO) -> int:
    damaged = count = 0
    after = ""
    while page := ((fleet.session(session),) if session else fleet.sessions(after=after)):
        for each in page:
            count += 1
            for finding in fleet.reading(each.id).findings:
                damaged += 1
                print(f"{each.id}: {finding.what}", file=stdout)
        after = page[-1].id
        if session:
            break
    print(f"{count} sessions checked, {damaged} findings.", file=stdout)
    return EXIT_DAMAGE if damaged else EXIT_OK


def _backup(catalog: Catalog, folder: str, stdout: TextIO) -> int:
    from holdfast.fleet.postgres.moves import back_up

    target = Path(folder).expanduser().absolute()
    if target == catalog.folder("x").parent:
        raise UsageError("Cannot back up sessions into their own folder. Pass another folder.")
    written = back_up(catalog, target)
    print(f"Wrote {len(written)} sessions to {target}; the others there are up to date.", file=stdout)
    return EXIT_OK
