"""The `holdfast` command: arguments in, exit code out. Each command's imports happen only when it runs."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

from holdfast import TYPE_CHECKING, __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO


def main(argv: Sequence[str] | None = None, environ: Mapping[str, str] | None = None) -> int:
    """Run the command and return its exit code; every `HoldfastError` becomes one sentence on standard error."""
    argv = sys.argv[1:] if argv is None else list(argv)
    environ = _environ(argv) if environ is None else environ
    if type(sys.stdout) is TextIOWrapper and not sys.stdout.isatty():
        from holdfast.ui.standard_output import standard_output

        sys.stdout = standard_output(sys.stdout)
    for name, how in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # If a standard stream is closed, its descriptor would be taken by the next opened file, e.g. a journal.
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, how))  # noqa: PTH123, SIM115 - open as long as we run
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows "?" instead of a traceback
    try:
        return _flush_stdout(_dispatch(argv, environ))
    except Exception as error:  # noqa: BLE001 - the top: every error has an exit code
        return _exit_code(error, environ)
    except KeyboardInterrupt:
        from holdfast.errors import EXIT_INTERRUPTED

        return EXIT_INTERRUPTED


def _exit_code(error: Exception, environ: Mapping[str, str]) -> int:
    """Report the error on standard error, a bug with its traceback, and return the exit code."""
    from holdfast.errors import EXIT_BROKEN_PIPE, EXIT_FAILED, HoldfastError

    match error:
        case HoldfastError():
            from holdfast.ui.advice import COMMAND_LINE, with_advice

            _write_line(sys.stderr, f"holdfast: {with_advice(error, COMMAND_LINE)}")
            return error.exit_code
        case BrokenPipeError():
            from holdfast.ui.standard_output import write_nowhere

            write_nowhere(sys.stdout)
            return EXIT_BROKEN_PIPE
        case FileNotFoundError(strerror=str() as why) if why.startswith("No usable temporary directory"):
            _write_line(sys.stderr, "holdfast: No folder for temporary files can be written. Set TMPDIR to one.")
            return EXIT_FAILED
        case _:
            import traceback

            from holdfast.ui.startup.crash_report import keep_traceback

            trace, location = keep_traceback("".join(traceback.format_exception(error)), environ=environ)
            bug = "This is a bug in holdfast. Your session is saved; run `holdfast -c` to continue."
            _write_line(
                sys.stderr,
                f"holdfast: Internal error. {bug} "
                f"Please report it with the following traceback ({location}).\n\n{trace}",
            )
            return EXIT_FAILED


def _environ(argv: Sequence[str]) -> Mapping[str, str]:
    """Return the environment; for runs that start commands, keys are only in the returned mapping."""
    if argv and argv[0] not in ("acp", "serve", "worker"):
        if argv[0] == "--version":  # it imports nothing
            return os.environ
        from holdfast.ui.command_table import COMMANDS

        if argv[0] in COMMANDS:
            return os.environ
    from holdfast.providers.credentials.process_environment import take_environment

    return take_environment()


def _dispatch(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    if list(argv[:1]) == ["--version"]:  # the parser has it too, but takes longer to build than Python takes to start
        print(f"holdfast {__version__}")
        return 0
    from holdfast.ui.command_table import COMMANDS, run_screen

    if argv and argv[0] in COMMANDS:
        return COMMANDS[argv[0]].run(list(argv[1:]), environ)
    if argv and argv[0].isascii() and argv[0][:1].islower() and not any(map(str.isspace, argv[0])):
        from holdfast.ui.startup.plugin_command import plugin_command

        if (command := plugin_command(argv[0], environ)) is not None:
            return command(list(argv[1:]))
    from holdfast.errors import UsageError
    from holdfast.ui.startup.first_prompt import parsed_arguments

    arguments = parsed_arguments(argv, tuple(COMMANDS))
    if arguments.yolo and arguments.permission_mode not in (None, "yolo"):
        raise UsageError(
            f"Options --yolo and --permission-mode {arguments.permission_mode!r} conflict. Use only one of them."
        )
    alone = {
        "--no-session": arguments.no_session,
        "--session-id": bool(arguments.session_id),
        "--input-format": arguments.input_format != "text",
    }
    _let_ctrl_z_stop_what_starts()
    if arguments.prompt is None and any(alone.values()):
        option = next(name for name, is_set in alone.items() if is_set)
        raise UsageError(f"{option} is for runs without a screen. Add -p, or leave it out.")
    if arguments.prompt is None:
        return run_screen(arguments, environ)
    from holdfast.ui.headless import run

    return run.main(arguments, environ=environ)


def _let_ctrl_z_stop_what_starts() -> None:
    """Start programs by fork, not by vfork: a Ctrl+Z would now and then freeze this process and its shell.

    CPython unblocks the signals of a child before it makes it the leader of its session. A SIGTSTP that came by then
    stops the child there, and this process with it: after a vfork it waits for the child's exec and cannot be stopped,
    so the shell does not get its terminal back. Seen in 5 of 70 attempts during a loop of starts, with fork in 0 of 70.
    """
    import subprocess

    subprocess._USE_VFORK = False  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue] - the documented switch


def _flush_stdout(code: int) -> int:
    """Flush standard output, then return `code`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:  # of a terminal, or of a stream that is not Python's
        from holdfast.ui.standard_output import unwritable

        raise unwritable(sys.stdout, error) from error
    return code


def _write_line(stream: TextIO, text: str) -> None:
    from holdfast.text import printable

    try:
        print(printable(text), file=stream, flush=True)
    except OSError:  # nowhere to report it; the exit code shows the failure
        from holdfast.ui.standard_output import write_nowhere

        write_nowhere(stream)
