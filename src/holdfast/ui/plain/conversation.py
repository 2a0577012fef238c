"""One session in the plain mode: lines in, text out, and nothing in between.

How it works. A thread reads lines; the terminal edits and echoes them. A line at the prompt starts a turn; during a
turn it steers; while a question is open it answers. The output of `-p` prints the events. Printed text is final.

Ctrl+C stops the turn. If no turn runs, or while it is still stopping, a second Ctrl+C quits.

Interruption rules: a prompt is journalled before its turn begins, a steering line before "Queued." is printed, an
answer before its call starts. A question that was open when the process died is asked again when the session resumes.
The terminal's modes are never changed, so they need no restoring.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import deque
from collections.abc import Coroutine

from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import CheckFinding, Event, Fact, TurnFailed
from holdfast.agent.sessions import OpenSession
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError
from holdfast.questions import ApprovalAnswer, Question
from holdfast.session.journal.entries import TurnEnded
from holdfast.text import printable
from holdfast.tool_calls import Image
from holdfast.tools.tool import Plan
from holdfast.ui.advice import COMMAND_LINE, with_advice
from holdfast.ui.headless.attachments import attached_images
from holdfast.ui.headless.input_reader import Line, LineReader
from holdfast.ui.headless.run import agent_of, heed_signals, opened_of
from holdfast.ui.headless.text_output import TextOutput
from holdfast.ui.headless.turn_end import TurnWatch
from holdfast.ui.plain.commands import Commands, Departure, is_command
from holdfast.ui.plain.questions import NeedsWords, NotUnderstood, TypedQuestion
from holdfast.ui.startup.run_options import RunOptions

INVITATION = "> "

SECOND_PRESS = 2.0
"""Seconds within which a second Ctrl+C quits."""

_TASKS_END = 3.0
_LAST_WORDS = 1.0


class PlainConversation:
    """The turns of one session, typed line by line."""

    def __init__(
        self, options: RunOptions, session: OpenSession, loop: asyncio.AbstractEventLoop, *, log: Log | None
    ) -> None:
        self.renew = False
        """Whether the user left for a new session."""
        self.signal_name = ""
        """The name of the signal that ended the conversation, else ""."""
        self._session = session
        self._options = options
        self._loop = loop
        self._output = TextOutput(sys.stdout, sys.stdout, on_closed=self._on_reader_closed)
        self._reader = LineReader(sys.stdin.fileno(), loop)
        self._watch = TurnWatch()
        self._agent = agent_of(options, session, emit=self._emit, log=log, ask=self._ask)
        self._commands = Commands(self._agent, session.id, usable=options.endpoint, sandbox=options.config.sandbox)
        self._question: TypedQuestion | None = None
        self._answer: asyncio.Future[ApprovalAnswer] | None = None
        self._turn: asyncio.Future[TurnEnded | None] | None = None
        self._interrupted_at = 0.0
        self._over = False
        self._unread: deque[Line] = deque()  # lines that arrived too late for a turn
        heed_signals(loop, self._on_signal)

    async def run(self) -> None:
        """Run until the user leaves, or the input ends."""
        self._reader.start()
        self._output.begin(opened_of(self._agent, self._session, self._options))
        self._print("Plain mode. Type a prompt, or /help.")
        try:
            if self._options.resumed is not None:
                await self._run_turn(self._agent.resume_turn())
            if self._options.first_prompt and not self._over:
                await self._begin(self._options.first_prompt)
            while not self._over and (text := await self._next_prompt()) is not None:
                await self._handle(text)
        finally:
            await self._agent.tasks.end(_TASKS_END, "the end of the run")
            await self._agent.close()

    def close(self) -> None:
        """Wait until the output is written."""
        self._output.close(_LAST_WORDS)

    async def _next_prompt(self) -> str | None:
        """Return the next prompt, None at the end of the input. Lines ending with a backslash are joined."""
        lines: list[str] = []
        while True:
            self._write("" if lines else INVITATION)
            line = await self._line()
            if line is None:
                return None
            if not line.endswith("\\"):
                return "\n".join((*lines, line))
            lines.append(line[:-1])

    async def _line(self) -> str | None:
        line = self._unread.popleft() if self._unread else await self._reader.lines.get()
        if line is None:
            self._over = True
            return None
        return _text(line)

    async def _handle(self, text: str) -> None:
        """Run the prompt or command in a line."""
        self._interrupted_at = 0.0
        if not text.strip():
            return
        try:
            if text.startswith("!") and (command := text.lstrip("!").strip()):
                ended = await self._agent.shell(command, share=text.startswith("!!"))
                self._print(printable(ended.text).rstrip())
            elif is_command(text):
                self._show_result(await self._commands.run(text))
            else:
                await self._begin(text)
        except HoldfastError as error:
            self._print(f"Error: {with_advice(error, COMMAND_LINE)}")

    def _show_result(self, result: Departure | list[str]) -> None:
        if isinstance(result, Departure):
            self.renew = result.renew
            self._leave()
            return
        for line in result:
            self._print(line)

    # --- a turn -----------------------------------------------------------------------------------------------------

    async def _begin(self, text: str) -> None:
        images = attached_images(self._agent, text, lambda why: self._output.event(CheckFinding(why)))
        await self._run_turn(self._run(text, images))

    async def _run(self, text: str, images: tuple[Image, ...]) -> TurnEnded:
        return await self._agent.run(await self._session.toolbox.expand_prompt(text), images=images)

    async def _run_turn(self, running: Coroutine[object, object, TurnEnded | None]) -> None:
        """Run a turn to its end, and handle the lines that arrive during it."""
        self._turn = turn = asyncio.ensure_future(running)
        try:
            while not turn.done():
                getting = asyncio.ensure_future(self._reader.lines.get())
                await asyncio.wait({turn, getting}, return_when=asyncio.FIRST_COMPLETED)
                if not getting.done():
                    getting.cancel()  # no line is lost: it stays in the queue
                    break
                await self._take(getting.result())
                if self._over:
                    break
            await asyncio.wait({turn})
            ended = turn.result()
            if ended is not None:
                self._output.end(self._watch.ended(ended, self._agent.conversation))
        finally:
            self._turn = None

    async def _take(self, line: Line | None) -> None:
        """Handle a line that arrived during a turn. A line that must wait becomes the next prompt."""
        if line is None:
            self._leave()
            return
        text = _text(line)
        try:
            if self._question is not None:
                self._answer_question(text)
            elif is_command(text):
                self._show_result(await self._commands.run(text))
            elif text.startswith("!") or not await self._agent.wait_for_turn():
                self._unread.append(line)
            elif text.strip():
                self._agent.queue(await self._session.toolbox.expand_prompt(text), "steer")
                self._print("Queued: the model reads it with the next request.")
        except HoldfastError as error:
            self._print(f"Error: {with_advice(error, COMMAND_LINE)}")

    async def _ask(self, question: Question, plan: Plan) -> ApprovalAnswer:
        self._question = typed = TypedQuestion(question, plan)
        self._answer = asyncio.get_running_loop().create_future()
        for line in typed.lines():
            self._print(line)
        try:
            return await self._answer
        finally:
            self._question = self._answer = None

    def _answer_question(self, text: str) -> None:
        assert self._question is not None
        assert self._answer is not None
        match self._question.take(text):
            case ApprovalAnswer() as answer:
                if not self._answer.done():
                    self._answer.set_result(answer)
            case NeedsWords():
                self._print("Tell the model why, or what to do instead (optional), then Enter:")
            case NotUnderstood(why=why):
                self._print(why)

    # --- output and signals -----------------------------------------------------------------------------------------

    def _emit(self, event: Event) -> None:
        self._watch.see(event)
        match event:
            case Fact(entry=TurnEnded()) | TurnFailed():
                pass  # printed at its end
            case _:
                self._output.event(event)

    def _print(self, text: str) -> None:
        self._output.note(text)

    def _write(self, text: str) -> None:
        self._output.prompt(text)

    def _on_signal(self, cause: StopCause) -> None:
        """Stop the turn. At a second Ctrl+C, or at any other signal, leave."""
        if cause.cause != "user":
            self.signal_name = cause.detail
            self._leave(cause)
            return
        again = time.monotonic() - self._interrupted_at < SECOND_PRESS
        self._interrupted_at = time.monotonic()
        if again:
            self._leave()
        elif self._turn is not None:
            self._print("Stopping.")
            self._stop(cause)
        else:
            self._agent.stop(cause)  # a shell command may be running
            self._print("Press Ctrl+C again to quit.")
            self._write(INVITATION)

    def _on_reader_closed(self, reason: str) -> None:
        """Leave, because nothing reads the output any more. Called on the output's thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._leave, StopCause("output", reason))

    def _leave(self, cause: StopCause | None = None) -> None:
        self._over = True
        self._stop(cause or StopCause("user"))
        self._reader.stop()

    def _stop(self, cause: StopCause) -> None:
        self._session.toolbox.stop_waiting()
        self._agent.stop(cause)


def _text(line: Line) -> str:
    return "" if line.text is None else line.text.decode("utf-8", "replace").rstrip("\r")
