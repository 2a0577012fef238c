"""`holdfast -p`: one turn without a screen. The prompt is journalled while the provider's SDK is imported."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

import msgspec

from holdfast.agent.agent import Agent
from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import CheckFinding, Event
from holdfast.agent.sessions import OpenSession, create, fork, resume
from holdfast.agent.stop_cause import StopCause
from holdfast.agent.turn.approval_prompt import ApprovalPrompt
from holdfast.config.settings import read_config
from holdfast.errors import (
    EXIT_INTERRUPTED,
    HoldfastError,
    StateError,
    ToolFailed,
    UsageError,
)
from holdfast.providers.connect import connect, preload
from holdfast.providers.credentials.process_environment import remove_keys
from holdfast.providers.model import Model
from holdfast.session.catalog import Catalog
from holdfast.session.journal.entries import Cause, TurnEnded
from holdfast.session.storage.temporary_sessions import delete_abandoned, delete_temporary
from holdfast.system.threads import in_daemon
from holdfast.system.user_directories import homes
from holdfast.tools.toolbox import LocalToolbox
from holdfast.ui.headless.attachments import attached_images
from holdfast.ui.headless.input_reader import LineReader
from holdfast.ui.headless.json_output import JsonOutput, StreamJsonOutput
from holdfast.ui.headless.output_format import OutputFormat, RunEnded, RunOpened
from holdfast.ui.headless.prompt_stream import PromptStream, TurnResults
from holdfast.ui.headless.status_lines import last_turn
from holdfast.ui.headless.text_output import TextOutput
from holdfast.ui.headless.turn_end import TurnWatch
from holdfast.ui.startup.arguments import Arguments
from holdfast.ui.startup.cost_limit import refuse_unpriced
from holdfast.ui.startup.debug_log_option import debug_log, debug_log_note
from holdfast.ui.startup.project_trust import judge_project
from holdfast.ui.startup.run_options import DEMO, RunOptions, run_options
from holdfast.ui.startup.session_choice import chosen_session, working_directory

LONGEST_STDIN = 10 * 1024 * 1024
"""Maximum bytes of standard input in a prompt; larger input should be a file, which the model can read in pages."""

STOPPED: frozenset[Cause] = frozenset({"user", "signal", "output", "external", "timeout"})
"""Causes of an end after which a slow reader delays the exit by at most LAST_WORDS."""

TASKS_END = 3.0
"""Seconds that background tasks have to end with the run; the supervisor ends the rest."""

LAST_WORDS = 1.0
"""Seconds that a stopped run waits for its reader. After a regular end, a slow reader receives everything."""


def main(arguments: Arguments, *, environ: Mapping[str, str]) -> int:
    """Run one turn and return the exit code. Raise `HoldfastError` if it cannot start."""
    gc.disable()  # until the SDK is imported: garbage collection would take a tenth of that time
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
            return _run(options, session, prompt, log)
    finally:
        session.store.close()
        if arguments.no_session and not delete_temporary(folder := options.catalog.folder(session.id)):
            debug_log_note(f"The session of this run could not be deleted. The next run tries again: {folder}")


def session_of(options: RunOptions) -> OpenSession:
    """Open the session to run in. An unusable model is reported before anything is opened or copied."""
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
            tools=options.tools_of(options.model, has_user=False),
            system=options.system,
            instructions=options.instructions,
            remote=options.remote_schemas(),
            session_id=_new_id(options),
        )
    if options.arguments.session_id:
        raise UsageError("--session-id names a new session. Leave out -c, -r and --fork, or --session-id.")
    door = fork if options.fork else resume
    return door(options.catalog, summary, tools=lambda: options.tools_of(options.model, has_user=False))


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
    if arguments.prompt:
        raise UsageError("--input-format stream-json reads the prompts from standard input. Pass -p without a prompt.")
    return True


def _run(options: RunOptions, session: OpenSession, prompt: str | None, log: Log | None) -> int:
    """Run one turn, or if `prompt` is None one for each line of standard input, and return the exit code.

    It returns after the reader has received all output; a stopped turn does not wait for that.
    """
    runner = asyncio.Runner()
    loop = runner.get_loop()
    watch = TurnWatch()
    signalled: list[StopCause] = []
    stream: PromptStream | None = None

    def on_reader_closed(cause: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, so the turn has too
            loop.call_soon_threadsafe(end, StopCause("output", cause))

    def stop(cause: StopCause) -> None:
        signalled.append(cause)
        end(cause)

    def end(cause: StopCause) -> None:
        session.toolbox.stop_waiting()
        (agent if stream is None else stream).stop(cause)

    def emit(event: Event) -> None:
        if results is not None:
            results.event(event)
        else:
            watch.see(event)
            output.event(event)

    output = _output(options.arguments.output_format, on_reader_closed)
    stream_output = output if prompt is None and isinstance(output, StreamJsonOutput) else None
    results = None if stream_output is None else TurnResults(stream_output, lambda: agent.conversation)
    patience: float | None = LAST_WORDS
    try:
        with runner:
            agent = agent_of(options, session, emit=emit, log=log)
            if stream_output is not None and results is not None:
                stream = PromptStream(
                    agent, session.toolbox.expand_prompt, LineReader(sys.stdin.fileno(), loop), stream_output, results
                )
            heed_signals(loop, stop)
            opened = opened_of(agent, session, options)
            if stream is not None:
                code = runner.run(_turns(agent, stream, opened=opened, output=output))
                stopped = stream.stopped
            else:
                ended = runner.run(
                    _turn(agent, prompt or "", session.toolbox, opened=opened, output=output, watch=watch)
                )
                stopped, code = ended.turn.cause in STOPPED, ended.exit_code
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


def agent_of(
    options: RunOptions,
    session: OpenSession,
    *,
    emit: Callable[[Event], None],
    log: Log | None,
    ask: ApprovalPrompt | None = None,
) -> Agent:
    """Return the agent of the session, with the model and the settings of the run."""

    async def connect_model(model: str) -> Model:
        aim = await in_daemon(lambda: options.endpoint(model))  # the keyring may be slow
        connection = await connect(aim, options.limits.of(model), log=log)
        gc.freeze()  # imports stay; a first collection would block the loop for 0.1 s
        gc.enable()
        return connection

    agent = options.new_agent(
        store=session.store,
        toolbox=session.toolbox,
        project=options.project_of(session.cwd),
        connect=connect_model,
        emit=emit,
        ask=ask,
        reading=session.reading,
        log=log,
    )
    if options.resumed is not None:
        if options.arguments.model or not options.resumed.model:
            agent.use_model(options.model)
        agent.use_settings(options.chosen_settings.over(agent.conversation.settings))
    return agent


def heed_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[StopCause], None]) -> None:
    """Make signals call `stop`, except those ignored because of nohup or a shell's background job."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        cause = StopCause("user") if number == signal.SIGINT else StopCause("signal", number.name)
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop, cause)


def opened_of(agent: Agent, session: OpenSession, options: RunOptions) -> RunOpened:
    """Return the start of the run, for its output."""
    before = agent.conversation
    return RunOpened(
        session=session.id,
        model=before.chosen_model,
        mode=agent.mode,
        cwd=str(session.cwd),
        tools=tuple(tool.name for tool in session.toolbox.schemas),
        resumed=before.turns > 0,
        saved=not options.arguments.no_session,
        last_turn=last_turn(record.entry for record in session.reading.records),
        settings=before.settings,
        servers=tuple(sorted(session.toolbox.server_reports().items())),
    )


async def _turns(agent: Agent, stream: PromptStream, *, opened: RunOpened, output: OutputFormat) -> int:
    """Run a turn for each prompt of the stream and return the exit code of the run."""
    try:
        output.begin(opened)
        return await stream.run()
    finally:
        await agent.close()


async def _turn(
    agent: Agent, prompt: str, toolbox: LocalToolbox, *, opened: RunOpened, output: OutputFormat, watch: TurnWatch
) -> RunEnded:
    """Run the turn, show it, and return its end."""
    try:
        before = agent.conversation
        output.begin(opened)
        images = attached_images(agent, prompt, lambda why: output.event(CheckFinding(why)))
        try:
            # Except for the prompt of a server, nothing is awaited from here to the turn's first await, so that a
            # closed reader stops the turn before it starts.
            turn = await agent.run(await toolbox.expand_prompt(prompt), images=images)
        except HoldfastError as error:
            after = agent.conversation
            turn = after.last_end
            if turn is None or turn.turn <= before.turns:  # it could not start, or its end could not be journalled
                turn = TurnEnded(turn=before.turns + 1, reason="error", cause="storage", detail=str(error))
            output.fail(RunEnded(turn=turn, conversation=after, exit_code=error.exit_code), str(error))
            raise
        tasks = await agent.tasks.end(TASKS_END, "the end of the run")
        ended = msgspec.structs.replace(watch.ended(turn, agent.conversation), tasks=tasks)
        output.end(ended)
        return ended
    finally:
        await agent.close()


def _output(kind: str, on_closed: Callable[[str], None]) -> OutputFormat:
    match kind:
        case "json":
            return JsonOutput(sys.stdout, on_closed=on_closed)
        case "stream-json":
            return StreamJsonOutput(sys.stdout, on_closed=on_closed)
        case _:
            return TextOutput(sys.stdout, sys.stderr, on_closed=on_closed)


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
