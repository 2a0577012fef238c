"""`holdfast mcp serve`: options in, a server on standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from holdfast.config.settings import read_config
from holdfast.errors import EXIT_OK, UsageError
from holdfast.session.catalog import Catalog
from holdfast.system.user_directories import homes
from holdfast.tool_calls import Mode, SandboxMode
from holdfast.tools.process.process_table import CALL_VARIABLE
from holdfast.ui.acp.protocol.refusals import Refusals
from holdfast.ui.startup.arguments import Arguments, Parser


class _Arguments(Arguments):
    folder: list[str] | None = None
    allow_yolo: bool = False
    sandbox: SandboxMode | None = None


def command_parser() -> Parser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast mcp serve",
        description="Serve other agents over the Model Context Protocol, on standard input and output.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--folder", action="append", metavar="DIR", help="offer this folder and all below it (default: this one)")
    add("--allow-yolo", action="store_true", help="offer the yolo mode, which runs everything without asking")
    add("--permission-mode", choices=[each for each in get_args(Mode) if each != "yolo"], default=None,
        help="mode if the client names none (default: the config's)")  # fmt: skip
    add("--sandbox", choices=get_args(SandboxMode), default=None,
        help="run commands in a sandbox (default: the config's); a client can only ask for require")  # fmt: skip
    add("-m", "--model", metavar="PROVIDER:MODEL", help="model to use if the client names none")
    add("--allow", action="append", metavar="RULE",
        help="allow calls, e.g. 'Bash(git commit *)'; repeatable")  # fmt: skip
    add("--deny", action="append", metavar="RULE", help="never run these calls, in any mode; repeatable")
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Serve until the client closes its end. Return the exit code. Raise `UsageError`."""
    arguments = command_parser().parse_args(argv, namespace=_Arguments())
    if environ.get(CALL_VARIABLE, "").startswith("mcp:"):
        raise UsageError(
            "Cannot delegate work from holdfast to itself: a holdfast session started this server. "
            "Remove it from that session's MCP servers."
        )
    places = homes(environ)
    read_config(places.config)
    from holdfast.ui.mcp_server.delegated_sessions import DelegatedSessions

    sessions = DelegatedSessions(
        Catalog(places.sessions),
        folders=[_offered(each) for each in arguments.folder or ["."]],
        environ=environ,
        options=_words(arguments),
        yolo=arguments.allow_yolo,
    )
    if sys.stdin.isatty():
        print("holdfast mcp serve is started by another agent: see docs/how-to/serve.md. Ctrl+D ends it.",
              file=sys.stderr)  # fmt: skip
    try:
        from holdfast.ui.mcp_server.sdk_server import serve_sessions  # more than a second
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):
            raise
        raise UsageError(
            "The package 'mcp', which holdfast mcp serve needs, is not installed. "
            "Install it: pip install 'holdfast[mcp]'."
        ) from error

    try:
        asyncio.run(serve_sessions(sessions, Refusals(environ)))
    except* BrokenPipeError:
        pass  # the client was killed and reads no answer; the work continues
    finally:
        sessions.close()
    return EXIT_OK


def _offered(path: str) -> Path:
    folder = Path(path).expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"--folder {path!r} is not a folder. Pass an existing one.")
    return folder


def _words(arguments: _Arguments) -> tuple[str, ...]:
    """Return the options of every run."""
    mode = ("--permission-mode", arguments.permission_mode) if arguments.permission_mode else ()
    model = ("-m", arguments.model) if arguments.model else ()
    allow = tuple(word for each in arguments.allow or () for word in ("--allow", each))
    deny = tuple(word for each in arguments.deny or () for word in ("--deny", each))
    sandbox = ("--sandbox", arguments.sandbox) if arguments.sandbox else ()
    return (*mode, *sandbox, *model, *allow, *deny)
