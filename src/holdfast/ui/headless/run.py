"""`holdfast -p`: one turn without a screen. The prompt is journalled while the provider's SDK is imported."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import select
import signal
import sys
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import msgspec

from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import Event
from holdfast.agent.sessions import OpenSession, create, fork, resume
from holdfast.agent.stop_cause import StopCause
from holdfast.config.settings import read_config
from holdfast.errors import (
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_UNMET,
    HoldfastError,
    StateError,
    ToolFailed,
    UsageError,
)
from holdfast.host.commands import Prompt, Stop
from holdfast.host.events import HostEvent, Opened
from holdfast.host.hosted_session import RULES_OF
from holdfast.host.opening import open_host
from holdfast.host.session_host import SessionHost
from holdfast.providers.connect import preload
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import Cause, TurnEnded
from holdfast.session.storage.temporary_sessions import delete_abandoned, delete_temporary
from holdfast.system.user_directories import homes
from holdfast.ui.headless.output_format import OutputFormat, RunEnded, RunOpened
from holdfast.ui.headless.status_lines import last_turn
from holdfast.ui.headless.text_output import TextOutput
from holdfast.ui.headless.turn_end import TurnWatch
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.debug_log_option import debug_log, debug_log_note
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import DEMO, RunOptions, run_options
from holdfast.ui.startup.session_choice import chosen_session, working_directory

if TYPE_CHECKING:
    from holdfast.ui.headless.prompt_stream import PromptStream

LONGEST_STDIN = 10 * 1024 * 1024
"""Maximum bytes of standard input in a prompt; larger input should be a file, which the model can read in pages."""

STOPPED: frozenset[Cause] = frozenset({"user", "signal", "output", "external", "timeout"})
"""Causes of an end after which a slow reader delays the exit by at most LAST_WORDS."""

TASKS_END = 3.0
"""Seconds that background tasks have to end with the run; the supervisor ends the rest."""

LAST_WORDS = 1.0
"""Seconds that a stopped run waits for its reader. After a regular end, a slow reader receives everything."""


def main(arguments: Arguments, *, environ: Mapping[str, str]) -> int:
    """Run one turn and return the exit code. Raise `HoldfastError` if it cannot start.

    Standard output gets the run's output alone: what a tool or a plug-in prints goes to standard error.
    """
    stdout = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        return _main(arguments, environ, stdout)


def _main(arguments: Arguments, environ: Mapping[str, str], stdout: TextIO) -> int:
    gc.disable()  # until the SDK is imported: garbage collection would take a tenth of that time
    if arguments.require:
        from holdfast.agent.receipt.conditions import known_condition

        for each in arguments.require:
            known_condition(each)
    places = homes(environ)
    user_config = read_config(places.config)
    delete_abandoned(places.temporary_sessions)
    cwd = working_directory(arguments.cwd)
    prompt = None if _reads_lines(arguments) else _prompt(arguments.prompt or "", sys.stdin)
    summary = chosen_session(Catalog(places.sessions), arguments, cwd=cwd, notify=debug_log_note)
    judge_project(environ, cwd if summary is None else Path(summary.cwd or cwd), trusted=arguments.trust_project)
    options = run_options(arguments, environ, user_config=user_config, cwd=cwd, resumed=summary)
    remove_keys(options.providers)
    for notice in filter(None, (*options.notices, options.unread)):
        debug_log_note(notice)
    session = session_of(options)
    options.prepare(session.toolbox)
    try:
        with debug_log(options, session.id, notify=debug_log_note) as log:
            return _run(options, session, prompt, log, stdout)
    finally:
        session.store.close()
        if arguments.no_session and not delete_temporary(folder := options.catalog.folder(session.id)):
            debug_log_note(f"The session of this run could not be deleted. The next run tries again: {folder}")


def session_of(options: RunOptions, *, has_user: bool = False) -> OpenSession:
    """Open the session to run in, with the tools that need a user if it `has_user`.

    An unusable model is reported before anything is opened or copied.
    """
    summary = options.resumed
    if not options.model:
        raise UsageError(
            "No model configured. Run `holdfast setup`, or pass -m PROVIDER:MODEL, "
            "e.g. -m openai:gpt-5.5 or -m anthropic:claude-sonnet-5-5."
            if summary is None
            else f"Unknown model of session {summary.id!r}: it was imported without one, or its first entry and its "
            "summary are damaged. Pass one with -m PROVIDER:MODEL to continue the session."
        )
    if options.model == DEMO:
        raise UsageError(
            f"Model {DEMO!r} is available only on the screen. Leave out -p and --plain, "
            "or pass another model with -m PROVIDER:MODEL."
        )
    if options.limits.max_cost is not None:
        from holdfast.ui.startup.cost_limit import refuse_unpriced

        refuse_unpriced(options)
    preload(options.endpoint(options.model))
    if summary is None:
        if options.mcp is not None:
            from holdfast.ui.startup.mcp_servers import ask_new_servers

            ask_new_servers(options.mcp, options.cwd)
        settings = options.settings_of(options.model)
        return create(
            options.catalog,
            cwd=options.cwd,
            model=options.model,
            settings=settings,
            tools=options.tools_of(options.model, has_user=has_user),
            system=options.system,
            instructions=options.instructions,
            remote=options.remote_schemas(),
            session_id=_new_id(options),
        )
    if options.arguments.session_id:
        raise UsageError("--session-id names a new session. Leave out -c, -r and --fork, or --session-id.")

    def tools() -> Container[str]:
        return options.tools_of(options.model, has_user=has_user)

    if options.fork:
        return fork(options.catalog, summary, tools=tools)
    return resume(options.catalog, summary, tools=tools, from_checkpoint=not has_user)  # a user reads all of it


def _new_id(options: RunOptions) -> str:
    """Return the ID of --session-id, "" for a new one. Raise `UsageError` if there is such a session."""
    session_id = options.arguments.session_id
    if session_id and options.catalog.folder(session_id).exists():
        raise UsageError(
            f"Session {session_id!r} exists already. Continue it with -r {session_id}, or choose another ID."
        )
    return session_id


def _reads_lines(arguments: Arguments) -> bool:
    """Return whether the prompts are lines of standard input. Raise `UsageError` for conflicting options."""
    if arguments.input_format == "text":
        return False
    if arguments.output_format != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json. Add it.")
    if arguments.require:
        raise UsageError("--require is about one turn, and --input-format stream-json runs several. Leave one out.")
    if arguments.prompt:
        raise UsageError("--input-format stream-json reads the prompts from standard input. Pass -p without a prompt.")
    return True


def _run(options: RunOptions, session: OpenSession, prompt: str | None, log: Log | None, stdout: TextIO) -> int:
    """Run one turn, or if `prompt` is None one for each line of standard input, and return the exit code.

    It returns after the reader has received all output; a stopped turn does not wait for that.
    """
    runner = asyncio.Runner()
    loop = runner.get_loop()
    signalled: list[StopCause] = []

    def on_reader_closed(cause: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, so the turn has too
            loop.call_soon_threadsafe(run.stop, StopCause("output", cause))

    def stop(cause: StopCause) -> None:
        signalled.append(cause)
        run.stop(cause)

    def begin(opened: Opened) -> None:
        output.begin(opened_of(opened, session, options))

    output = _output(options.arguments.output_format, stdout, on_reader_closed)
    patience: float | None = LAST_WORDS
    try:
        with runner:
            host = open_host(options, session, RULES_OF["stream" if prompt is None else "print"], log=log)
            conditions = tuple(options.arguments.require or ())
            run = (
                _Turn(host, prompt, output, begin, Required(conditions, options.config.receipt.tests, options.environ))
                if prompt is not None
                else _stream(host, output, begin, loop, options)
            )
            heed_signals(loop, stop)
            stopped, code = runner.run(run.run())
        late = (
            bool(signalled) and not stopped
        )  # the signal came too late for the turn, but ends the wait for the reader
        if not stopped and not late:
            patience = None
    except ToolFailed as failed:  # the prompt of a server
        if not signalled:
            raise
        debug_log_note(str(failed))
        return EXIT_INTERRUPTED
    finally:
        unwritten = output.close(patience)
    if unwritten:
        raise StateError(
            f"Output of session {session.id!r} was lost: cannot write to standard output: {unwritten}. "
            + (
                "It is not saved (--no-session)."
                if options.arguments.no_session
                else f"The session has all of it: holdfast sessions show {session.id}"
            )
        )
    return EXIT_INTERRUPTED if late else code


class Required(msgspec.Struct, frozen=True):
    """The `conditions` of --require. `own_tests` are commands that the user calls test runs."""

    conditions: tuple[str, ...]
    own_tests: tuple[str, ...]
    environ: Mapping[str, str]


class _Turn:
    """The one turn of a run: a client of the session's host."""

    def __init__(
        self,
        host: SessionHost,
        prompt: str,
        output: OutputFormat,
        begin: Callable[[Opened], None],
        required: Required,
    ) -> None:
        self._host = host
        self._prompt = prompt
        self._output = output
        self._begin = begin
        self._watch = TurnWatch(required.own_tests)
        self._required = required

    def stop(self, cause: StopCause) -> None:
        """Stop the turn."""
        self._host.submit(Stop(cause.cause, cause.detail))

    async def run(self) -> tuple[bool, int]:
        """Run the turn and show it. Return whether it was stopped, and the exit code."""
        host = self._host
        try:
            host.listen(self._show)
            before = host.agent.conversation
            try:
                turn = await host.submit(Prompt(self._prompt)).ended
            except HoldfastError as error:
                after = host.agent.conversation
                turn = after.last_end
                if turn is None or turn.turn <= before.turns:  # it could not start, or its end could not be journalled
                    turn = TurnEnded(turn=before.turns + 1, reason="error", cause="storage", detail=str(error))
                failed = RunEnded(turn=turn, conversation=after, exit_code=error.exit_code)
                self._output.fail(failed, str(error))
                raise
            assert isinstance(turn, TurnEnded)  # nothing runs that it could be queued for
            tasks = await host.end_tasks(TASKS_END, "the end of the run")
            ended = msgspec.structs.replace(self._watch.ended(turn, host.agent.conversation), tasks=tasks)
            ended = required(ended, self._required)
            self._output.end(ended)
            return turn.cause in STOPPED, ended.exit_code
        finally:
            await host.close()

    def _show(self, event: HostEvent) -> None:
        if isinstance(event, Opened):
            self._begin(event)
        elif isinstance(event, Event):
            self._watch.see(event)
            self._output.event(event)


def _stream(
    host: SessionHost,
    output: OutputFormat,
    begin: Callable[[Opened], None],
    loop: asyncio.AbstractEventLoop,
    options: RunOptions,
) -> PromptStream:
    """Return the run whose prompts are lines of standard input."""
    from holdfast.ui.headless.input_reader import LineReader
    from holdfast.ui.headless.json_output import StreamJsonOutput
    from holdfast.ui.headless.prompt_stream import PromptStream

    assert isinstance(output, StreamJsonOutput)  # other formats are refused at the start
    return PromptStream(host, LineReader(sys.stdin.fileno(), loop), output, begin, options.config.receipt.tests)


def required(ended: RunEnded, by: Required) -> RunEnded:
    """Return the end of a run with the conditions that it does not meet, which are written to standard error too."""
    if not by.conditions:
        return ended
    from holdfast.agent.receipt.conditions import unmet

    unseen = _uncommitted(ended, by.environ) if "committed" in by.conditions else ""
    found = ((each, unmet(each, ended.receipt, uncommitted=unseen)) for each in by.conditions)
    reasons = tuple(f"{each}: {why}" for each, why in found if why)
    for reason in reasons:
        debug_log_note(f"Required, and not met: {reason}.")
    code = EXIT_UNMET if reasons and ended.exit_code == EXIT_OK else ended.exit_code
    return msgspec.structs.replace(ended, unmet=reasons, exit_code=code)


def _uncommitted(ended: RunEnded, environ: Mapping[str, str]) -> str:
    """Return why it is not seen that what the calls of the run changed is committed, "" if it is."""
    from holdfast.ui.view.repository import uncommitted_files

    files, opened = ended.receipt.files, ended.conversation.opened
    if opened is None or not (files.changed or files.by_command):
        return "no file was changed"
    try:
        differ = uncommitted_files(Path(opened.cwd), environ)
    except UsageError as error:
        return str(error).partition(". ")[0].rstrip(".")
    left = [each for each in (*files.changed, *files.by_command) if str(Path(opened.cwd, each)) in differ]
    return f"{left[0]} differs from the last commit" if left else ""


def heed_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[StopCause], None]) -> None:
    """Make signals call `stop`, except those ignored because of nohup or a shell's background job."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        cause = StopCause("user") if number == signal.SIGINT else StopCause("signal", number.name)
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop, cause)


def opened_of(opened: Opened, session: OpenSession, options: RunOptions) -> RunOpened:
    """Return the start of the run, for its output."""
    return RunOpened(
        session=opened.session,
        model=opened.model,
        mode=opened.mode,
        cwd=str(opened.cwd),
        tools=opened.tools,
        resumed=opened.resumed,
        saved=not options.arguments.no_session,
        last_turn=last_turn(fact.entry for fact in opened.facts),
        settings=opened.settings,
        servers=tuple(sorted(session.toolbox.server_reports().items())),
    )


def _output(kind: str, stdout: TextIO, on_closed: Callable[[str], None]) -> OutputFormat:
    if kind == "text":
        return TextOutput(stdout, sys.stderr, on_closed=on_closed)
    from holdfast.ui.headless.json_output import JsonOutput, StreamJsonOutput

    return (JsonOutput if kind == "json" else StreamJsonOutput)(stdout, on_closed=on_closed)


def _prompt(words: str, stdin: TextIO) -> str:
    """Return the prompt: the words of -p, then standard input, unless that is a terminal."""
    piped = "" if stdin.isatty() else _piped(stdin)
    prompt = "\n\n".join(part for part in (words, piped) if part.strip())
    if not prompt:
        raise UsageError('The prompt is empty. Pass it with -p "…" or on standard input.')
    return prompt


def _piped(stdin: TextIO) -> str:
    descriptor = stdin.fileno()
    if not select.select([descriptor], [], [], 3.0)[0]:
        print("holdfast: waiting for the end of standard input (close it, or use </dev/null)", file=sys.stderr)
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, 1 << 16):
        size += len(chunk)
        if size > LONGEST_STDIN:
            raise UsageError(
                f"Standard input is too long for a prompt (at most {LONGEST_STDIN // 1024**2} MB). "
                "Save it to a file and mention the file in the prompt."
            )
        chunks.append(chunk)
    try:
        text = b"".join(chunks).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"Standard input is not UTF-8 text (byte {error.start}). "
            "Save it to a file and mention the file in the prompt."
        ) from error
    if "\x00" in text:
        raise UsageError(
            f"Standard input is binary (a NUL at character {text.index(chr(0))}). "
            "Save it to a file and mention the file in the prompt."
        )
    return text
