"""The `holdfast` command: arguments in, exit code out. Imports what a command needs, when it needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Literal, Protocol, TextIO

from holdfast import __version__
from holdfast.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, HoldfastError, StateError, UsageError


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run the command and return its exit code; every error on purpose becomes one sentence on standard error."""
    argv = sys.argv[1:] if argv is None else list(argv)
    environ = _environ(argv) if environ is None else environ
    for name, how in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Started without it, Python has None for it, and the next file to be opened, a journal, would take its place.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(how))  # noqa: SIM115 - open as long as we run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows a question mark, not a traceback
    try:
        return _printed(_dispatch(argv, environ))
    except HoldfastError as error:
        _say(sys.stderr, f"holdfast: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget(sys.stdout)
        return 141
    except Exception as error:  # noqa: BLE001 - the top: a person gets a sentence, and the traceback a report needs
        import traceback  # noqa: PLC0415 - only when there is one

        from holdfast.ui.faults import keep  # noqa: PLC0415 - likewise

        trace, where = keep("".join(traceback.format_exception(error)), environ=environ)
        said = "This is a bug of holdfast; the session is safe, go on with -c."
        _say(
            sys.stderr,
            f"holdfast: Internal error. {said} Please report it with what follows, which is {where}.\n\n{trace}",
        )
        return EXIT_FAILED


def _environ(argv: Sequence[str]) -> Mapping[str, str]:
    """Return the environment; where commands may be run, keys are in what is returned and nowhere else."""
    if argv and (not argv[0].startswith("-") or argv[0] == "--version"):
        return os.environ
    from holdfast.agent.own_environment import taken  # noqa: PLC0415 - only what the command needs

    return taken()


def _dispatch(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    match list(argv[:1]):
        case ["--version"]:  # the parser knows it too; making one takes longer than starting Python
            print(f"holdfast {__version__}")
            return EXIT_OK
        case ["sessions"]:
            from holdfast.ui import sessions  # noqa: PLC0415 - only what the command needs

            return sessions.main(list(argv[1:]), environ=environ, stdout=sys.stdout, stderr=sys.stderr)
        case ["check" | "repair" as command]:
            from holdfast.ui import check  # noqa: PLC0415 - only what the command needs

            return check.main(command, list(argv[1:]))
        case ["demo" | "setup" | "config" | "doctor" | "completion" as command]:
            return _main_of(command)(list(argv[1:]), environ=environ)
        case _:
            from holdfast.ui.arguments import Arguments, parser  # noqa: PLC0415 - only what the command needs

            arguments, unknown = parser().parse_known_args(argv, namespace=Arguments())
            if unknown:
                raise UsageError(_unknown(unknown[0]))
            if arguments.yolo and arguments.permission_mode not in (None, "yolo"):
                raise UsageError(
                    f"Option --yolo contradicts --permission-mode {arguments.permission_mode!r}, one of them was "
                    "expected. Leave one out."
                )
            if arguments.prompt is None:
                from holdfast.ui.tui import run  # noqa: PLC0415 - only what the command needs

                return run.main(arguments, environ=environ)
            from holdfast.ui import headless  # noqa: PLC0415 - only what the command needs

            return headless.main(arguments, environ=environ)


def _unknown(word: str) -> str:
    """Return what is said of a word that means nothing here: a command that is misspelt, or a prompt without -p."""
    import difflib  # noqa: PLC0415 - only when there is one

    from holdfast.ui.completion import COMMANDS  # noqa: PLC0415 - likewise

    near = difflib.get_close_matches(word, COMMANDS, n=1)
    hint = f"Did you mean: holdfast {near[0]}?" if near else 'For one turn without a screen: holdfast -p "…".'
    return f"Argument {word!r} is not known, a command or an option was expected. {hint} All of them: holdfast --help."


class _Main(Protocol):
    def __call__(self, argv: list[str], /, *, environ: Mapping[str, str]) -> int: ...


def _main_of(command: Literal["demo", "setup", "config", "doctor", "completion"]) -> _Main:
    """Return what runs a command; imports that and nothing else."""
    match command:
        case "demo":
            from holdfast.ui.demo import main  # noqa: PLC0415 - only what the command needs
        case "completion":
            from holdfast.ui.completion import main  # noqa: PLC0415 - only what the command needs
        case "config":
            from holdfast.ui.config import main  # noqa: PLC0415 - only what the command needs
        case "doctor":
            from holdfast.ui.doctor import main  # noqa: PLC0415 - only what the command needs
        case "setup":
            from holdfast.ui.setup import main  # noqa: PLC0415 - only what the command needs
    return main


def _printed(code: int) -> int:
    """Return `code` once all that was printed is written."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        _forget(sys.stdout)
        raise StateError(
            f"Standard output cannot be written: {error.strerror}, somewhere to write was expected. Free some space, "
            "or send it elsewhere."
        ) from error
    return code


def _forget(stream: TextIO) -> None:
    """Let what could not be written go nowhere: Python would try once more when it exits, complain, and exit 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _say(stream: TextIO, text: str) -> None:
    from holdfast.text import printable  # noqa: PLC0415 - only when there is something to say

    try:
        print(printable(text), file=stream, flush=True)
    except OSError:  # nobody hears it; the exit code tells
        _forget(stream)
