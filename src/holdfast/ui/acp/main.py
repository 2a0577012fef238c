"""`holdfast acp`: serve one client on standard input and output.

Standard output belongs to the protocol alone. Before anything else is imported its descriptor is moved away, and
descriptor 1 becomes standard error; standard input is moved likewise. So no library and no command can write a line to
the client, or read one from it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.errors import EXIT_OK, UsageError
from holdfast.ui.json_rpc.descriptors import move_descriptors
from holdfast.ui.startup.arguments import Parser, add_settings

if TYPE_CHECKING:
    from holdfast.ui.acp.editor_methods import EditorArguments

CLOSES_WITHIN = 1.0
"""Seconds in which the last lines must be written after the end."""


def command_parser() -> Parser:
    """Return the parser of this command's options."""
    parser = Parser(
        prog="holdfast acp",
        description="Serve an editor over the Agent Client Protocol, on standard input and output.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--allow-yolo", action="store_true", help="offer the yolo mode, which runs everything without asking"
    )
    parser.add_argument("--debug", action="store_true", help="write a debug log of each session")
    add_settings(parser)
    return parser


def main(argv: list[str], *, environ: Mapping[str, str]) -> int:
    """Serve until the client closes its end, or until a signal. Return the exit code. Raise `UsageError`."""
    from holdfast.ui.acp.editor_methods import EditorArguments  # the parser's --help needs no loop

    arguments = command_parser().parse_args(argv, namespace=EditorArguments())
    if arguments.cwd is not None:
        raise UsageError("-C is for the terminal: an editor names the folder of each session. Leave it out.")
    if sys.stdin.isatty():
        print("holdfast acp is started by an editor: see docs/how-to/editors.md. Ctrl+D ends it.", file=sys.stderr)
    return _serve(arguments, environ, *move_descriptors())


def _serve(arguments: EditorArguments, environ: Mapping[str, str], lines_in: int, lines_out: int) -> int:
    import asyncio  # after standard output is moved
    import contextlib
    import signal

    from holdfast.agent.stop_cause import StopCause
    from holdfast.ui.acp.editor_methods import EditorMethods
    from holdfast.ui.headless.input_reader import LineReader
    from holdfast.ui.json_rpc.connection import LONGEST_MESSAGE, EditorConnection, LineWriter

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        reader = LineReader(lines_in, loop, longest=LONGEST_MESSAGE)

        def end(cause: StopCause) -> None:
            methods.stop(cause)
            reader.stop()

        def on_client_closed(why: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(end, StopCause("output", why))

        writer = LineWriter(lines_out, on_client_closed)
        methods = EditorMethods(EditorConnection(reader, writer), arguments, environ)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                loop.add_signal_handler(number, end, StopCause("signal", number.name))
        try:
            await methods.serve()
        finally:
            await methods.close()
            writer.close(CLOSES_WITHIN)

    asyncio.run(serve())
    return EXIT_OK
