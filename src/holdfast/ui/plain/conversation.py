"""One session in the plain mode: lines in, text out, and nothing in between. A client of the session's host.

How it works. A thread reads lines; the terminal edits and echoes them. A line is typed text for the host: at the prompt
it starts a turn or runs a command; during a turn it steers; while a question is open it answers. The output of `-p`
prints the events. Printed text is final.

At the prompt a line is done before the next is read: so a prompt, a command and what it prints stay together. During a
turn each line goes to the host at once, but for a command of the shell, which waits for the end of the turn.

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

import msgspec

from holdfast.agent.debug_log.log import Log
from holdfast.agent.events import Event, Fact, TurnFailed
from holdfast.agent.sessions import OpenSession
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.host.hosted_session import RULES_OF
from holdfast.host.opening import open_host
from holdfast.session.journal.entries import ShellEnded, TurnEnded
from holdfast.text import printable
from holdfast.ui.advice import COMMAND_LINE, with_advice
from holdfast.ui.headless.input_reader import Line, LineReader
from holdfast.ui.headless.run import heed_signals, opened_of
from holdfast.ui.headless.text_output import TextOutput
from holdfast.ui.headless.turn_end import TurnWatch
from holdfast.ui.plain.questions import NeedsWords, NotUnderstood, TypedAnswer, TypedQuestion
from holdfast.ui.startup.run_options import RunOptions

INVITATION = "> "

GREETING = (
    "Type a prompt and press Enter. While a turn runs, a line steers it.",
    "Ctrl+C stops the turn. Press it again, or twice at the prompt, to quit. Ctrl+D quits.",
    "!COMMAND runs a shell command; !!COMMAND also shares its output with the model. A \\ at the end continues a line.",
)
"""The first lines of /help."""

SECOND_PRESS = 2.0
"""Seconds within which a second Ctrl+C quits."""

_QUEUED = "Queued: the model reads it with the next request."
_TASKS_END = 3.0
_LAST_WORDS = 1.0


class _OpenQuestion(msgspec.Struct, frozen=True):
    """The question that waits for a line."""

    id: str
    typed: TypedQuestion


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
        self._host = open_host(options, session, RULES_OF["plain"], log=log, greeting=GREETING)
        self._question: _OpenQuestion | None = None
        self._doing: list[c.Submission] = []  # the lines whose end is waited for
        self._is_busy = False
        self._interrupted_at = 0.0
        self._over = False
        self._unread: deque[Line] = deque()  # lines that wait for the end of a turn
        heed_signals(loop, self._on_signal)

    async def run(self) -> None:
        """Run until the user leaves, or the input ends."""
        try:
            self._reader.start()
            self._host.listen(self._show)
            self._print("Plain mode. Type a prompt, or /help.")
            if self._options.resumed is not None:
                await self._do(c.Continue())
            if self._options.first_prompt and not self._over:
                await self._do(c.Prompt(self._options.first_prompt))
            while not self._over and (text := await self._next_prompt()) is not None:
                self._interrupted_at = 0.0
                if self._question is not None:  # of a turn that an ended task began
                    self._answer(self._question, text)
                elif text.strip():
                    await self._do(c.Typed(text))
        finally:
            await self._host.end_tasks(_TASKS_END, "the end of the run")
            await self._host.close()

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

    # --- a line -----------------------------------------------------------------------------------------------------

    async def _do(self, command: c.Command) -> None:
        """Have the host do a command to its end, and take the lines that arrive in the meantime."""
        self._doing = doing = [self._host.submit(command)]
        try:
            while doing:
                await self._follow(doing[0])
                del doing[0]
        finally:
            self._doing = []

    async def _follow(self, submission: c.Submission) -> None:
        """Wait for the end of a command, and take the lines that arrive until then."""
        while not submission.ended.done() and not self._over:
            getting = asyncio.ensure_future(self._reader.lines.get())
            await asyncio.wait({submission.ended, getting}, return_when=asyncio.FIRST_COMPLETED)
            if getting.done():
                await self._take(getting.result())
            else:
                getting.cancel()  # no line is lost: it stays in the queue
        try:
            result = await submission.ended
            queued = await submission.accepted
        except HoldfastError as error:
            if submission.accepted.exception() is not None:  # else the host warned of it
                self._print_error(error)
            return
        if isinstance(result, ShellEnded):
            self._print(printable(result.text).rstrip())
        elif queued and self._doing[0] is submission:
            self._print(_QUEUED)

    async def _take(self, line: Line | None) -> None:
        """Take a line that arrived while something runs. A line that must wait is the next prompt."""
        if line is None:
            self._leave()
            return
        text = _text(line)
        if self._question is not None:
            self._answer(self._question, text)
        elif text.startswith("!"):
            self._unread.append(line)
        elif text.strip():
            submission = self._host.submit(c.Typed(text))
            try:
                if await submission.accepted:
                    self._print(_QUEUED)
                elif not submission.ended.done():  # the turn had ended: this line began the next
                    self._doing.append(submission)
            except HoldfastError as error:
                self._print_error(error)

    def _answer(self, question: _OpenQuestion, text: str) -> None:
        match question.typed.take(text):
            case TypedAnswer(choice=choice, words=words, marked=marked):
                self._host.submit(c.Answer(question.id, choice, words, marked))
            case NeedsWords():
                self._print("Tell the model why, or what to do instead (optional), then Enter:")
            case NotUnderstood(why=why):
                self._print(why)

    # --- output and signals -----------------------------------------------------------------------------------------

    def _show(self, event: h.HostEvent) -> None:
        """Print an event of the host."""
        match event:
            case h.Opened():
                self._output.begin(opened_of(event, self._session, self._options))
            case h.Busy():
                self._is_busy = True
            case h.Idle(ended=ended):
                self._is_busy = False
                if ended is not None:
                    self._output.end(self._watch.ended(ended, self._host.agent.conversation))
                if not self._doing and not self._over:
                    self._write(INVITATION)
            case h.Asked(question=question, plan=plan):
                self._question = _OpenQuestion(question.id, TypedQuestion(question, plan))
                for line in self._question.typed.lines():
                    self._print(line)
            case h.AskClosed():
                self._question = None
            case h.Lines(lines=lines):
                for line in lines:
                    self._print(line)
            case h.LeaveRequested(renew=renew):
                self.renew = renew
                self._leave()
            case h.Warned(message=message, fault=fault) if fault != "bug":  # a bug is raised
                self._print_error(HoldfastError(message, fault=fault))
            case Fact(entry=TurnEnded()) | TurnFailed():
                self._watch.see(event)  # printed at the end of the work
            case _ if isinstance(event, Event):
                self._watch.see(event)
                self._output.event(event)
            case _:
                pass

    def _print(self, text: str) -> None:
        self._output.note(text)

    def _print_error(self, error: HoldfastError) -> None:
        self._print(f"Error: {with_advice(error, COMMAND_LINE)}")

    def _write(self, text: str) -> None:
        self._output.prompt(text)

    def _on_signal(self, cause: StopCause) -> None:
        """Stop what runs. At a second Ctrl+C, or at any other signal, leave."""
        if cause.cause != "user":
            self.signal_name = cause.detail
            self._leave(cause)
            return
        again = time.monotonic() - self._interrupted_at < SECOND_PRESS
        self._interrupted_at = time.monotonic()
        if again:
            self._leave()
        elif self._doing or self._is_busy:
            self._print("Stopping.")
            self._host.submit(c.Stop())
        else:
            self._print("Press Ctrl+C again to quit.")
            self._write(INVITATION)

    def _on_reader_closed(self, reason: str) -> None:
        """Leave, because nothing reads the output any more. Called on the output's thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._leave, StopCause("output", reason))

    def _leave(self, cause: StopCause | None = None) -> None:
        self._over = True
        stop = cause or StopCause("user")
        self._host.submit(c.Stop(stop.cause, stop.detail))
        self._reader.stop()


def _text(line: Line) -> str:
    return "" if line.text is None else line.text.decode("utf-8", "replace").rstrip("\r")
