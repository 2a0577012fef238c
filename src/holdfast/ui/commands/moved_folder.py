"""`holdfast sessions move`: a session continues in another folder."""

from __future__ import annotations

import argparse
from typing import TextIO

from holdfast.errors import EXIT_OK
from holdfast.session.catalog import Catalog
from holdfast.text import printable
from holdfast.ui.startup.arguments import Parser
from holdfast.ui.startup.session_choice import working_directory


def add_move(commands: argparse._SubParsersAction[Parser]) -> None:  # pyright: ignore[reportPrivateUsage] - argparse has no public name
    """Add the options of this command."""
    add = commands.add_parser("move", help="continue a session in another directory", allow_abbrev=False)
    add.add_argument("session", metavar="ID", help="session ID or unique prefix")
    add.add_argument("folder", metavar="DIR", help="the directory it works in from now on")


def move(catalog: Catalog, session: str, folder: str, stdout: TextIO) -> int:
    """Journal that the session works in `folder`, and return the exit code."""
    from holdfast.agent.sessions import move_session

    to = working_directory(folder)
    summary = catalog.find(session, free=True)
    moved = move_session(catalog, summary, to, "command")
    if not moved:
        print(f"Session {summary.id} works in {printable(str(to))} already.", file=stdout)
    else:
        places = f"{printable(moved[0].to)} from now on; before, in {printable(moved[0].from_)}"
        print(f"Session {summary.id} works in {places}.", file=stdout)
    print(f"Resume it: holdfast -r {summary.id}", file=stdout)
    return EXIT_OK
