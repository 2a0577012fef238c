"""`holdfast.open_session`: a session in a few lines, for programs. It is a client of the session's host.

The folder of a session is created or resumed by the same call. Its journal is there before its first entry: a process
killed in between leaves an empty journal, and the next call writes the first entry into it.

Example:
    async with open_session("openai:gpt-5.5", session="sessions/today", tools=[deploy]) as session:
        print(await session.prompt("Release it."))
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
import threading
import typing
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import msgspec

from holdfast.agent.cancellation import wait_shielded
from holdfast.agent.events import LiveText
from holdfast.errors import HoldfastError, UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.author_toolbox import split_tools
from holdfast.host.hosted_session import RULES_OF
from holdfast.host.session_host import SessionHost
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.journal.entries import TurnEnded
from holdfast.system.threads import ForeignExit, described, in_daemon
from holdfast.text import valid_unicode
from holdfast.tool_calls import Mode
from holdfast.tools.returned_output import bounded_text
from holdfast.typed_data import exact_value
from holdfast.ui.library.given_arguments import path_argument, system_argument, text_argument
from holdfast.ui.library.library_plan import AskFunction, SessionPlan

LONGEST_PROGRAM_NAME = 40
"""Characters of the name of a program, which stands in every note to the model."""

LONGEST_ASK_FAULT = 500
"""Bytes of why a program's `ask` gave no answer, as they stand in the journal."""

_CANCELLED_ASK = "Function ask was cancelled before it had answered. Let it return an answer in every case."

_NAME = re.compile(rf"(?=.{{1,{LONGEST_PROGRAM_NAME}}}\Z)\w(?:[\w .'-]*[\w.])?")


Events = asyncio.Queue[h.HostEvent | None]
"""Events that wait to be read; None behind the last one."""


class PromptFailed(HoldfastError):
    """A turn ended before the model had answered; `ended` says how."""

    def __init__(self, message: str, *, ended: TurnEnded) -> None:
        super().__init__(message)
        self.ended = ended


def open_session(  # noqa: PLR0913 - the one call with everything a session can be given
    model: str,
    *,
    session: str | os.PathLike[str] | None = None,
    resume: str | None = None,
    tools: Iterable[object] = (),
    ask: AskFunction | None = None,
    mode: Mode = "ask",
    cwd: str | os.PathLike[str] = ".",
    name: str = "holdfast",
    system: str | None = None,
) -> Session:
    """Return a session to be entered with `async with`: that in the folder `session`, created if there is none.

    `resume` is the id of one of the user's own sessions, or its beginning; without both, a new one is made among them.
    `tools` are functions, and names of holdfast's own tools; without any the session has holdfast's own. Without `ask`,
    a call that needs approval ends its turn. Raises `UsageError` for arguments that cannot be used.
    """
    if session is not None and resume is not None:
        raise UsageError(
            "Arguments session= and resume= were both given. Pass the folder of a session, or the ID of one."
        )
    if mode not in typing.get_args(Mode):
        raise UsageError(f"Mode {mode!r} is unknown (expected one of {', '.join(typing.get_args(Mode))}).")
    if ask is not None and not callable(ask):
        raise UsageError(f"Argument ask={ask!r} cannot be called. Pass a function that takes a question.")
    model = text_argument("model", model)
    name = text_argument("name", name)
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"Argument name={name[:LONGEST_PROGRAM_NAME]!r} cannot be the name of a program (expected up to "
            f"{LONGEST_PROGRAM_NAME} letters, digits, spaces, and any of . _ ' -). Pass a shorter or simpler one."
        )
    system = None if system is None else system_argument(system)
    folder = None if session is None else path_argument("session", session)
    resume = None if resume is None else text_argument("resume", resume)
    for argument, value in (("session", folder), ("resume", resume)):
        if value is not None and not value.strip():
            raise UsageError(f"Argument {argument}= is empty. Name a session, or leave it out.")
    place = path_argument("cwd", cwd)
    named, authored = split_tools(tools)
    default = "" if named is None or named else f"You are {name}. Use your tools to do what the user asks."
    return Session(
        SessionPlan(
            model=model,
            folder=None if folder is None else Path(folder).absolute(),
            resume=resume or "",
            named=named,
            authored=authored,
            asks_user=ask is not None,
            mode=mode,
            cwd=Path(place).absolute(),
            cwd_given=place != ".",
            name=name,
            system=default if system is None else system,
        ),
        ask,
    )


class TextStream(AsyncIterator[str]):
    """The text of one turn, as it comes. Left in any way before its end, it stops that turn, and nothing after it.

    A generator would be closed by the event loop, later: its stop would reach what the program had sent in between.
    """

    def __init__(
        self,
        turn: c.Submission,
        reader: Events,
        *,
        leave: Callable[[c.Submission, Events], None],
        answer: Callable[[c.CommandResult], str],
    ) -> None:
        self._turn, self._reader, self._leave, self._answer = turn, reader, leave, answer
        self._is_over = False

    async def __anext__(self) -> str:
        """Return the next text."""
        if self._is_over:
            raise StopAsyncIteration
        try:
            while (event := await self._reader.get()) is not None:
                if isinstance(event, LiveText):
                    return event.text
            self._end()
            self._answer(await self._turn.ended)
        except BaseException:
            self._end()
            raise
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Leave the stream."""
        self._end()

    def __del__(self) -> None:
        self._end()

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._leave(self._turn, self._reader)


class Session:
    """A session of a program. `stop` may be called from any thread, everything else on the loop that entered it."""

    def __init__(self, plan: SessionPlan, ask: AskFunction | None) -> None:
        self._plan, self._ask = plan, ask
        self._host: SessionHost | None = None
        self._close: Callable[[], None] = lambda: None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._readers: list[Events] = []
        self._question_task: asyncio.Task[ApprovalAnswer] | None = None
        self._fault: tuple[int, BaseException] | None = None  # of the author's `ask`, and the turn that it ended
        self._is_closed = False

    async def __aenter__(self) -> Self:
        """Open the session: it is journalled and its lease is held from here on."""
        from holdfast.ui.library.library_opening import opened_host

        if self._host is not None:
            raise UsageError("Session is open already. Call open_session again for another one.")
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._host, self._close = await opened_host(
            self._plan, os.environ, msgspec.structs.replace(RULES_OF["library"], asks_user=self._plan.asks_user)
        )
        self._host.listen(self._on_event)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        await self.close()

    async def close(self) -> None:
        """Stop what runs, end the processes of tools, and release the session. It can be resumed."""
        if self._host is None:
            return
        try:
            await self._host.close()
        finally:
            self._close()

    @property
    def id(self) -> str:
        """Return the id of the session."""
        return self._opened.session.id

    @property
    def _opened(self) -> SessionHost:
        if self._host is None:
            raise UsageError("Session is not open. Enter it: async with open_session(…) as session.")
        return self._host

    def submit(self, command: c.Command) -> c.Submission:
        """Take a command and return at once; await what is returned for its result."""
        return self._opened.submit(command)

    async def prompt(self, text: str) -> str:
        """Run a turn and return the model's answer. Raises `PromptFailed` if the turn ended without one.

        A cancellation, as of `asyncio.wait_for`, stops the turn and is raised once that has ended.
        """
        turn = self.submit(c.Prompt(text))
        return self._answer(await wait_shielded(turn.ended, lambda _: self._cancel(turn)))

    def _cancel(self, turn: c.Submission) -> None:
        """Recall the message of a prompt that waits for another turn, else stop its turn."""
        if not turn.accepted.done() and self._opened.busy:  # whether it waits for what runs is not decided yet
            turn.accepted.add_done_callback(lambda _: self._cancel(turn))
            return
        if turn.accepted.done() and turn.accepted.exception() is not None:
            return
        message = turn.accepted.result() if turn.accepted.done() else ""
        waits = any(each.message.id == message for each in self._opened.agent.conversation.queued)
        self.submit(c.Recall(message) if waits else c.Stop("external"))

    def stream(self, text: str) -> TextStream:
        """Run a turn and yield its text as it comes; raises as `prompt` does. Leaving the loop stops the turn."""
        reader = self._reader()
        turn = self.submit(c.Prompt(text))
        turn.ended.add_done_callback(lambda _: reader.put_nowait(None))
        return TextStream(turn, reader, leave=self._leave, answer=self._answer)

    def _leave(self, turn: c.Submission, reader: Events) -> None:
        """Stop hearing for a stream that is left, and stop its turn if that still runs. Callable from any thread."""
        with suppress(ValueError):  # it was left before
            self._readers.remove(reader)
        if not turn.ended.done():
            self.stop()

    def events(self) -> AsyncGenerator[h.HostEvent]:
        """Return the events of the session from now on, until it is closed."""
        return self._heard(self._reader())

    async def _heard(self, reader: Events) -> AsyncGenerator[h.HostEvent]:
        try:
            while not (self._is_closed and reader.empty()) and (event := await reader.get()) is not None:
                yield event
                if isinstance(event, h.Closed):
                    return
        finally:
            self._readers.remove(reader)

    def stop(self) -> None:
        """Stop what runs, from any thread. Does nothing if nothing runs."""
        loop = self._loop
        if loop is None or self._host is None:
            return
        if threading.get_ident() == self._thread:
            self._host.submit(c.Stop())
            return
        with suppress(RuntimeError):  # the loop has closed, so nothing runs
            loop.call_soon_threadsafe(self._host.submit, c.Stop())

    def _reader(self) -> Events:
        _ = self._opened
        reader: Events = asyncio.Queue()
        self._readers.append(reader)
        return reader

    def _on_event(self, event: h.HostEvent) -> None:
        self._is_closed = isinstance(event, h.Closed)  # the last of all
        for reader in tuple(self._readers):
            reader.put_nowait(event)
        if isinstance(event, h.Asked) and self._ask is not None:
            question = event.question
            self._question_task = asyncio.ensure_future(_answered(self._ask, question))
            self._question_task.add_done_callback(lambda task: self._pass_answer(question, task))
        elif isinstance(event, h.AskClosed) and self._question_task is not None:
            self._question_task.cancel()

    def _pass_answer(self, question: Question, task: asyncio.Task[ApprovalAnswer]) -> None:
        """Answer with what the program returned. If it failed to answer, the turn is stopped for that reason."""
        host = self._opened
        fault = UsageError(_CANCELLED_ASK) if task.cancelled() else task.exception()
        if host.open_question is None or host.open_question.id != question.id:  # it was closed in between
            return
        if fault is None:
            answer = task.result()
            self.submit(c.Answer(question.id, answer.choice, answer.words, answer.marked))
            return
        self._fault = host.agent.conversation.turns, fault
        why = bounded_text(" ".join(described(fault).split()), LONGEST_ASK_FAULT)
        self.submit(c.Stop("external", f"its function ask did not answer: {valid_unicode(why)}"))

    def _answer(self, ended: c.CommandResult) -> str:
        if not isinstance(ended, TurnEnded):  # its message was queued, and recalled or left there at the close
            raise UsageError(
                "Prompt was not sent: it was recalled, or the session was closed before its turn. Send it again."
            )
        fault, self._fault = self._fault, None
        if fault is not None and fault[0] == ended.turn:
            raise fault[1].error if isinstance(fault[1], ForeignExit) else fault[1]
        if ended.reason == "end_turn":
            return self._opened.agent.conversation.answer
        hint = ""
        if ended.cause == "approval":
            hint = ' Pass ask=, make the tool @tool("read") if it only reads, or use mode="yolo".'
        why = ended.detail or f"{ended.reason} ({ended.cause})"
        raise PromptFailed(f"Turn {ended.turn} ended without an answer: {why}{hint}", ended=ended)


async def _answered(ask: AskFunction, question: Question) -> ApprovalAnswer:
    try:
        if inspect.iscoroutinefunction(ask):
            answer = await cast("Awaitable[object]", ask(question))
        else:
            answer = await in_daemon(lambda: ask(question))
            if inspect.isawaitable(answer):
                answer = await answer
    except SystemExit as error:  # in a task it would end the loop: `prompt` raises it
        raise ForeignExit(error) from error
    if isinstance(answer, ApprovalAnswer):
        answer = _checked(answer)
        question.chosen(answer)
        return answer
    offered = ", ".join(each.name for each in question.choices)
    choice = None if not isinstance(answer, str) else question.choice(answer)
    if choice is None:
        shown = repr(answer) if isinstance(answer, (str, int, float, bool, type(None))) else type(answer).__name__
        raise UsageError(
            f"Function ask returned {shown} for {question.text!r} (expected one of {offered}). Return one."
        )
    return choice.answer()


def _checked(answer: ApprovalAnswer) -> ApprovalAnswer:
    try:
        return exact_value(answer, ApprovalAnswer)
    except msgspec.ValidationError as error:
        raise UsageError(f"Function ask returned an answer with a wrong field: {error}. Correct it.") from error
