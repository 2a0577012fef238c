"""Runs hooks: each is a command of the session's supervisor, journalled before it starts and behind its end.

The end of a hook is the end of its process, not that of its output: what it leaves running is ended, and nothing waits
for it. Its time is bounded by the supervisor, its output by what the supervisor keeps. A stop ends its whole tree.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.agent.cancellation import end_tasks
from holdfast.agent.journal_writer import JournalWriter
from holdfast.errors import StateError, ToolFailed
from holdfast.hooks.answer import MOST_HOOK_TEXT, MOST_OUTPUT, HookAnswer, answer_of, failed_answer
from holdfast.hooks.definition import Hook
from holdfast.session.journal import entries as e
from holdfast.session.journal.tasks import HookDecision
from holdfast.text import valid_unicode
from holdfast.tool_calls import ProcessId
from holdfast.tools.process.end_record import new_seal, read_regular_file
from holdfast.tools.process.session_supervisors import CommandRequest
from holdfast.tools.process.supervised_command import ERRORS
from holdfast.tools.toolbox import LocalToolbox

Ended = tuple[Hook, HookAnswer]
"""A hook with what it said."""


class _Running(msgspec.Struct, frozen=True, eq=False):
    task: asyncio.Task[HookAnswer]
    stop: asyncio.Event


class HookRuns:
    """The hooks that run in one session. `journal` is that of its agent."""

    def __init__(self, toolbox: LocalToolbox, journal: Callable[[], JournalWriter]) -> None:
        self._toolbox = toolbox
        self._journal = journal
        self._running: set[_Running] = set()

    @property
    def any_running(self) -> bool:
        """Return whether a hook runs."""
        return bool(self._running)

    async def run(self, hooks: Sequence[Hook], payload: bytes, *, call: str = "") -> tuple[Ended, ...]:
        """Run the hooks at once, each with `payload` on its stdin, and return what they said, in their order.

        Those that are async are only started. A cancellation stops all, and propagates at once; their ends follow.
        Raises `StateError` if a start cannot be journalled: that hook did not run.
        """
        running: list[tuple[Hook, _Running]] = []
        try:
            for hook in hooks:
                started = self._start(hook, payload, call)
                if not hook.is_async:
                    running.append((hook, started))
            if running:
                await asyncio.wait([each.task for _, each in running])
        except BaseException:
            for _, each in running:
                each.stop.set()
            raise
        return tuple((hook, each.task.result()) for hook, each in running)

    def start(self, hooks: Sequence[Hook], payload: bytes, *, call: str = "") -> None:
        """Start the hooks and wait for none."""
        for hook in hooks:
            self._start(hook, payload, call)

    async def end(self, within: float) -> None:
        """Stop every hook, and wait up to twice so many seconds for their ends."""
        running = tuple(self._running)
        for each in running:
            each.stop.set()
        await end_tasks([each.task for each in running], within)

    def _start(self, hook: Hook, payload: bytes, call: str) -> _Running:
        """Journal that the hook starts, and start it."""
        journal = self._journal()
        opened = journal.conversation.opened  # its processes carry it: unique across sessions
        hook_id = f"{opened.session if opened else ''}{journal.new_id('-h')}"
        spool, seal = new_seal(hook_id)
        journal.append(
            e.HookStarted(id=hook_id, event=hook.event, command=valid_unicode(hook.line), call=call, spool=spool)
        )
        stop = asyncio.Event()
        work = self._run(hook, hook_id, self._toolbox.spool / spool, seal, payload, stop)
        running = _Running(asyncio.get_running_loop().create_task(work, name=f"hook {hook_id}"), stop)
        self._running.add(running)
        running.task.add_done_callback(lambda task: self._is_over(running, task))
        return running

    def _is_over(self, running: _Running, task: asyncio.Task[HookAnswer]) -> None:
        self._running.discard(running)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._journal().not_recorded(error)

    async def _run(
        self, hook: Hook, hook_id: str, spool: Path, seal: str, payload: bytes, stop: asyncio.Event
    ) -> HookAnswer:
        answer = failed_answer("was cancelled")
        try:
            answer = await self._answer(hook, hook_id, spool, seal, payload, stop)
        finally:
            self._journal().append(hook_ended(hook_id, answer))
            self._toolbox.forget(spool.name)
        return answer

    async def _answer(
        self, hook: Hook, hook_id: str, spool: Path, seal: str, payload: bytes, stop: asyncio.Event
    ) -> HookAnswer:
        journal = self._journal()

        def began(process: ProcessId) -> None:
            try:
                journal.append(e.ProcessStarted(call=hook_id, process=process))
            except StateError as failed:  # it runs, and its end may still be written
                journal.not_recorded(failed)

        root = self._toolbox.root
        stdin = spool.with_name(f"{spool.name}.in")
        try:
            _write_new(stdin, payload)
            finished = await self._toolbox.supervisors.run(
                CommandRequest(
                    command=hook.line,
                    call=hook_id,
                    cwd=root,
                    timeout=hook.timeout,
                    spool=spool,
                    seal=seal,
                    stdin=str(stdin),
                    split_errors=True,
                    variables=hook_variables(root),
                ),
                stop=stop,
                emit=_ignore,
                on_start=began,
            )
            stdout = read_regular_file(spool, MOST_OUTPUT)
            stderr = read_regular_file(spool.with_name(f"{spool.name}{ERRORS}"), MOST_OUTPUT)
        except (ToolFailed, OSError) as error:
            return failed_answer(f"could not run: {error}")
        return answer_of(hook.event, finished, stdout, stderr)


def hook_variables(root: Path) -> Mapping[str, str]:
    """Return the variables of a hook's environment that other commands do not have."""
    return {"CLAUDE_PROJECT_DIR": str(root)}


def hook_ended(hook_id: str, answer: HookAnswer) -> e.HookEnded:
    """Return the entry of a hook's end."""
    decision: HookDecision = "stop" if answer.ends else answer.decision
    words = answer.reason or answer.context
    text = f"It {answer.failed}." + (f" {words}" if words else "") if answer.failed else words
    return e.HookEnded(
        id=hook_id,
        outcome=answer.outcome,
        decision=decision,
        text=text[: 2 * MOST_HOOK_TEXT],
        message=answer.message,
        seconds=round(answer.seconds, 3),
        exit=answer.exit,
    )


def _ignore(text: str) -> None:
    """Drop live output: only the end of a hook counts."""
    del text


def _write_new(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(data)
