"""`holdfast serve`: an HTTP API and a page for the sessions of this user, or for those of a fleet."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.errors import EXIT_OK, UsageError
from holdfast.system.user_directories import homes
from holdfast.ui.service.serve_arguments import LINGER, PORT, ServeArguments
from holdfast.ui.startup.arguments import Parser, add_settings

if TYPE_CHECKING:
    from holdfast.ui.service.access import Right

_MOST_LINGER = 86_400
_LINGER_HELP = f"close a local session that is idle for S seconds, for other programs (default: {LINGER:g})"


def command_parser() -> Parser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast serve",
        description="Serve an HTTP API and a page: your local sessions, or with --store those of a fleet.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--store", metavar="URL", help="serve the fleet in this PostgreSQL database, not the local sessions")
    add("--host", metavar="ADDRESS", default="127.0.0.1", help="listen on this address (default: 127.0.0.1)")
    add("--port", type=int, metavar="N", default=PORT, help=f"listen on this port, 0 for a free one (default: {PORT})")
    add("--host-name", action="append", metavar="NAME", help="also answer to this host name; repeatable")
    add("--tokens", metavar="FILE", help="file with the tokens (default: your own, created at the first start)")
    add("--new-token", metavar="NAME", help="add a token to that file, print it, and exit")
    add("--rights", metavar="LIST", default="read,ask,answer", help="with --new-token: its rights")
    add("--root", action="append", metavar="DIR", help="allow new sessions in this folder too; repeatable")
    add("--slots", type=int, metavar="N", default=8, help="maximum local sessions that run at once (default: 8)")
    add("--linger", type=float, metavar="S", default=LINGER, help=_LINGER_HELP)
    add("--allow-yolo", action="store_true", help="offer the yolo mode, which runs everything without asking")
    add("--debug", action="store_true", help="write a debug log of each session")
    add_settings(parser)
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Serve until a signal. Return the exit code."""
    arguments = command_parser().parse_args(argv, namespace=ServeArguments())
    _refuse_missing("starlette", "uvicorn", *(("psycopg",) if arguments.store is not None else ()))
    from holdfast.ui.service.access import TokenFile, new_token  # the parser's --help needs none of it

    path = homes(environ).tokens if arguments.tokens is None else Path(arguments.tokens).expanduser().absolute()
    if arguments.new_token is not None:
        print(new_token(path, arguments.new_token, _rights(arguments.rights)))
        return EXIT_OK
    if arguments.slots < 1:
        raise UsageError("--slots must be at least 1.")
    if not 0 <= arguments.linger <= _MOST_LINGER:
        raise UsageError(f"--linger {arguments.linger:g} is invalid (expected 0 to {_MOST_LINGER} seconds).")
    created_token = ""
    if arguments.tokens is None and not path.exists():
        created_token = new_token(path, "me", _rights("read,ask,answer"))
    tokens = TokenFile(path)
    from holdfast.ui.service.server import serve

    return serve(arguments, environ, tokens=tokens, path=path, created_token=created_token)


def _rights(listed: str) -> tuple[Right, ...]:
    from holdfast.ui.service.access import RIGHTS

    words = [each.strip() for each in listed.split(",")]
    for each in words:
        if each not in RIGHTS:
            raise UsageError(f"Unknown right {each!r} (expected a comma-separated list of {', '.join(RIGHTS)}).")
    return tuple(each for each in RIGHTS if each in words)


def _refuse_missing(*packages: str) -> None:
    from importlib.util import find_spec

    missing = [each for each in packages if find_spec(each) is None]
    if missing:
        raise UsageError(
            f"Not installed: {' and '.join(missing)}, which `holdfast serve` needs. "
            f"Run {Path(sys.executable).name} -m pip install 'holdfast[fleet]'."
        )
