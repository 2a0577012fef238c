"""`holdfast -p`: one turn without a screen. The prompt is journalled while the provider's library is imported."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from holdfast.agent.connecting import connect, preload
from holdfast.agent.driver import Driver
from holdfast.agent.events import Event, Fact, Finding
from holdfast.agent.log import Log
from holdfast.agent.model import Model
from holdfast.agent.opening import OpenSession, create, fork, resume
from holdfast.agent.providers import Providers, Target
from holdfast.agent.settle import Leave
from holdfast.agent.windows import window_of
from holdfast.calls import Mode
from holdfast.config import Context, Limits, homes, read_config
from holdfast.errors import (
    EXIT_APPROVAL,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_RETRYABLE,
    RETRYABLE,
    HoldfastError,
    StateError,
    UsageError,
)
from holdfast.session.catalog import Catalog, Summary
from holdfast.session.entries import Cause, RequestFailed, TurnEnded
from holdfast.tools.thread import in_daemon
from holdfast.ui.account import last_turn
from holdfast.ui.arguments import Arguments
from holdfast.ui.attaching import attached
from holdfast.ui.choosing import DEMO, chosen, folder, judge_project, project_config, project_of, settings_of
from holdfast.ui.debug import debug_log, note
from holdfast.ui.output import Ended, JsonOutput, Opened, Output, StreamJsonOutput, TextOutput

LONGEST_STDIN = 10 * 1024 * 1024
"""Bytes of standard input that may be part of a prompt; more is no prompt but a file, which `read` can page."""

STOPPED: frozenset[Cause] = frozenset({"user", "signal", "output", "external", "timeout"})
"""Endings after which a reader that does not read holds up nobody for longer than LAST_WORDS."""

LAST_WORDS = 1.0
"""Seconds a stopped run waits for its reader. Behind one that ended by itself a slow reader gets everything."""


def main(arguments: Arguments, *, environ: Mapping[str, str]) -> int:
    """Run one turn as `arguments` say and return the exit code; raises `HoldfastError` for what cannot be begun."""
    gc.disable()  # until the provider's library is imported: looking through it for garbage is a tenth of that time
    places = homes(environ)
    own = read_config(places.config)
    cwd = folder(arguments.cwd)
    prompt = _prompt(arguments.prompt or "", sys.stdin)
    catalog = Catalog(places.sessions)
    summary = chosen(catalog, arguments, cwd=cwd)
    where = Path(summary.cwd) if summary is not None and summary.cwd else cwd
    judge_project(environ, where, trusted=arguments.trust_project)
    project = project_config(environ, where, ask=None, say=note)
    settings = settings_of(arguments, environ, own=own, project=project)
    config, providers, environ = settings.config, settings.providers, settings.environ
    if settings.unread:
        note(settings.unread)

    def aimed(model: str) -> Target:
        if model == DEMO:
            raise UsageError(
                f"Model {DEMO!r} is for the screen, PROVIDER:MODEL was expected with -p. Leave -p out to look around, "
                "or name another with -m."
            )
        return settings.aimed(model)

    session, name = _session(catalog, arguments, summary, cwd=cwd, configured=config.model, aimed=aimed)
    if config.pid_namespace:
        session.toolbox.contain()
    session.toolbox.may_fetch(config.fetch.addresses)
    try:
        with debug_log(
            catalog.folder(session.id),
            session=session.id,
            environ=environ,
            providers=providers,
            wanted=arguments.debug,
        ) as log:
            return _run(
                session,
                name,
                prompt,
                mode=settings.mode,
                limits=settings.limits,
                context=config.context,
                arguments=arguments,
                environ=environ,
                providers=providers,
                aimed=aimed,
                log=log,
            )
    finally:
        session.store.close()


def _session(
    catalog: Catalog,
    arguments: Arguments,
    summary: Summary | None,
    *,
    cwd: Path,
    configured: str | None,
    aimed: Callable[[str], Target],
) -> tuple[OpenSession, str]:
    """Return the session to run in and the model's name, both known to be usable."""
    if summary is None:
        name = arguments.model or configured
        if name is None:
            raise UsageError(
                "Model is missing, -m PROVIDER:MODEL was expected (or `model` in the config file, by holdfast setup). "
                "For example: -m openai:gpt-5.5 or -m anthropic:claude-sonnet-5-5."
            )
        preload(aimed(name))
        return create(catalog, cwd=cwd, model=name), name
    # What cannot be used is said before anything is opened or copied; a damaged session may have lost its model.
    model = arguments.model or ("" if summary.model else configured) or ""
    if not (model or summary.model):
        raise UsageError(
            f"Session {summary.id!r} has lost its model: its first entry and its summary are damaged. Name one with "
            "-m PROVIDER:MODEL, and the session continues."
        )
    preload(aimed(model or summary.model))
    session = fork(catalog, summary) if arguments.fork else resume(catalog, summary)
    return session, model


def _run(  # noqa: PLR0913 - what a run is made of
    session: OpenSession,
    name: str,
    prompt: str,
    *,
    mode: Mode,
    limits: Limits,
    context: Context,
    arguments: Arguments,
    environ: Mapping[str, str],
    providers: Providers,
    aimed: Callable[[str], Target],
    log: Log | None,
) -> int:
    """Return the exit code of one turn, once whoever reads it has it all; a turn that was stopped waits for nobody."""
    runner = asyncio.Runner()
    loop = runner.get_loop()
    faults: list[str] = []

    async def connected(model: str) -> Model:
        aim = await in_daemon(lambda: aimed(model))  # a keyring may have to be waited for
        connection = await connect(aim, limits.of(model), log=log)
        gc.freeze()  # what was imported stays; a first look through it would hold up the loop for a tenth of a second
        gc.enable()
        return connection

    def reader_gone(why: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the turn with it
            loop.call_soon_threadsafe(driver.stop, Leave("output", why))

    def emit(event: Event) -> None:
        if isinstance(event, Fact) and isinstance(event.entry, RequestFailed):
            faults[:] = [event.entry.fault]
        output.event(event)

    output = _output(arguments.output_format, reader_gone)
    patience: float | None = LAST_WORDS
    try:
        with runner:
            driver = Driver(
                store=session.store,
                toolbox=session.toolbox,
                connect=connected,
                mode=mode,
                emit=emit,
                limits=limits,
                context=context,
                window=window_of,
                project=project_of(environ, session.cwd),
                debug=arguments.debug,
                log=log,
                reading=session.reading,
                providers=providers,
            )
            if name:
                driver.use_model(name)
            ended = runner.run(_turn(driver, prompt, session=session, mode=mode, output=output, faults=faults))
        if ended.turn.cause not in STOPPED:
            patience = None
    finally:
        unwritten = output.close(patience)
    if unwritten:
        raise StateError(
            f"Standard output of session {session.id!r} was lost: {unwritten}, somewhere to write was expected. "
            f"What happened is kept: holdfast sessions show {session.id}"
        )
    return ended.exit_code


async def _turn(
    driver: Driver, prompt: str, *, session: OpenSession, mode: Mode, output: Output, faults: Sequence[str]
) -> Ended:
    """Run the turn, show it and return how it ended; signals stop it, but for those we were started to ignore."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        why = Leave("user") if number == signal.SIGINT else Leave("signal", number.name)
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a background job of a shell
            loop.add_signal_handler(number, driver.stop, why)
    try:
        before = driver.conversation
        output.begin(
            Opened(
                session=session.id,
                model=before.model,
                mode=mode,
                cwd=str(session.cwd),
                tools=tuple(session.toolbox.tools),
                resumed=before.turns > 0,
                last_turn=last_turn(record.entry for record in session.reading.records),
            )
        )
        images = attached(driver, prompt, lambda why: output.event(Finding(why)))
        try:
            # From here to the first wait of the turn nothing is awaited: a reader that is gone already stops it.
            turn = await driver.run(prompt, images=images)
        except HoldfastError as error:
            after = driver.conversation
            turn = after.last_end
            if turn is None or turn.turn <= before.turns:  # it could not be begun, or its end not be journalled
                turn = TurnEnded(turn=before.turns + 1, reason="error", cause="storage", detail=str(error))
            output.fail(Ended(turn=turn, conversation=after, exit_code=error.exit_code), str(error))
            raise
        ended = Ended(
            turn=turn, conversation=driver.conversation, exit_code=exit_code(turn, faults[-1] if faults else "")
        )
        output.end(ended)
        return ended
    finally:
        await driver.close()


def exit_code(turn: TurnEnded, fault: str) -> int:
    """Return the exit code for how a turn ended; `fault` is that of its last failed request."""
    match turn.cause:
        case "finished":
            return EXIT_OK
        case "approval":
            return EXIT_APPROVAL
        case "user" | "signal" | "output" | "external":
            return EXIT_INTERRUPTED
        case "provider" if fault in RETRYABLE:
            return EXIT_RETRYABLE
        case _:
            return EXIT_FAILED


def _output(kind: str, gone: Callable[[str], None]) -> Output:
    match kind:
        case "json":
            return JsonOutput(sys.stdout, gone=gone)
        case "stream-json":
            return StreamJsonOutput(sys.stdout, gone=gone)
        case _:
            return TextOutput(sys.stdout, sys.stderr, gone=gone)


def _prompt(words: str, stdin: TextIO) -> str:
    """Return the prompt: the words of -p, then what standard input holds if it is not a terminal."""
    piped = "" if stdin.isatty() else _piped(stdin)
    prompt = "\n\n".join(part for part in (words, piped) if part.strip())
    if not prompt:
        raise UsageError('Prompt is empty, words after -p or on standard input were expected. Try: -p "…".')
    return prompt


def _piped(stdin: TextIO) -> str:
    descriptor = stdin.fileno()
    if not select.select([descriptor], [], [], 3.0)[0]:
        print("holdfast: waiting for standard input to end (close it, or use </dev/null)", file=sys.stderr)
    chunks: list[bytes] = []
    size = 0
    while chunk := os.read(descriptor, 1 << 16):
        size += len(chunk)
        if size > LONGEST_STDIN:
            raise UsageError(
                f"Standard input is longer than {LONGEST_STDIN // 1024**2} MB, a prompt was expected. "
                "Write it to a file and name the file in the prompt."
            )
        chunks.append(chunk)
    try:
        text = b"".join(chunks).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"Standard input is not UTF-8 text (byte {error.start}), text was expected. "
            "Write it to a file and name the file in the prompt."
        ) from error
    if "\x00" in text:
        raise UsageError(
            f"Standard input is binary (a NUL at character {text.index(chr(0))}), text was expected. "
            "Write it to a file and name the file in the prompt."
        )
    return text
