"""A run that reads its prompts from the lines of standard input, one turn after another.

How it works. A line that arrives while no turn runs is the prompt of the next turn, and is journalled when that turn
begins. A line that arrives during a turn is queued: the entry is on disk before the `queued` line is written. So each
prompt acknowledged by a `message` or a `queued` line is in the journal, whenever the process dies.

After a turn that is stopped or fails, an interactive session does not send its queued messages. Here this run queued
them, so each is sent anyway, in order. Messages that an earlier run left in the queue stay there.

Lines are not just read ahead into memory, because a prompt that is neither journalled nor refused would be lost in a
crash without a trace. A line that is still in memory is not acknowledged.

Example: three lines arrive at once. The first begins a turn, the other two are queued. The turn fails because the
provider does not answer: its result has exit code 75, the second prompt begins the next turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from holdfast.agent.agent import Agent
from holdfast.agent.events import CheckFinding, Event, Fact, TurnFailed
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, HoldfastError, UsageError
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import Cause, PromptAccepted, TurnEnded
from holdfast.tool_calls import Image
from holdfast.ui.headless.attachments import attached_images
from holdfast.ui.headless.input_lines import (
    BadLine,
    InputLine,
    InterruptLine,
    PromptLine,
    RefusedRequest,
    parse_input_line,
)
from holdfast.ui.headless.input_reader import LONGEST_LINE, Line, LineReader
from holdfast.ui.headless.json_output import StreamJsonOutput
from holdfast.ui.headless.turn_end import TurnWatch

_NO_MORE: frozenset[Cause] = frozenset({"max_cost", "signal", "output", "external", "storage", "bug"})
"""Causes of an end after which no further turn can run."""


class TurnResults:
    """Writes the events of the run, and a result after each turn."""

    def __init__(self, output: StreamJsonOutput, conversation: Callable[[], Conversation]) -> None:
        self.exit_code = EXIT_OK
        """The exit code of the last turn that failed or was stopped."""
        self._output = output
        self._conversation = conversation
        self._watch = TurnWatch()
        self._ended: tuple[TurnEnded, Conversation] | None = None

    def event(self, event: Event) -> None:
        """Write the event. A turn's result follows when its fault is known too."""
        if isinstance(event, Fact) and isinstance(event.entry, PromptAccepted):
            self.flush()
        self._watch.see(event)
        self._output.event(event)
        match event:
            case Fact(entry=TurnEnded() as turn) if turn.cause != "crash":
                self._ended = turn, self._conversation()
            case TurnFailed():
                self.flush()
            case _:
                pass

    def flush(self) -> None:
        """Write the result of the turn that has ended, unless it is written."""
        if self._ended is not None:
            ended, self._ended = self._watch.ended(*self._ended), None
            self.exit_code = ended.exit_code or self.exit_code
            self._output.end(ended)


class PromptStream:
    """The turns of one run, from lines that become prompts."""

    def __init__(
        self,
        agent: Agent,
        expand: Callable[[str], Awaitable[str]],
        reader: LineReader,
        output: StreamJsonOutput,
        results: TurnResults,
    ) -> None:
        """Create it. `expand` returns the prompt for the text of a line, with server prompts expanded, or raises."""
        self._agent = agent
        self._expand = expand
        self._reader = reader
        self._output = output
        self._results = results
        self.stopped = False
        """Whether the run was stopped from outside."""
        self._begun = 0  # turns
        self._has_bad_lines = False
        self._unread: deque[Line | None] = deque()  # a line that arrived just when its turn ended
        self._earlier_ids = {waiting.message.id for waiting in agent.conversation.queued}

    def stop(self, cause: StopCause) -> None:
        """End the run: stop the turn, and start no other."""
        self.stopped = True
        self._agent.stop(cause)
        self._reader.stop()

    async def run(self) -> int:
        """Run a turn for each prompt until the input ends, and return the exit code of the run."""
        self._reader.start()
        while (prompt := await self._next()) is not None and not self.stopped:
            text, images, queued = prompt
            turn = asyncio.ensure_future(self._agent.run(text, images=images, queued=queued))
            self._begun += 1
            try:
                await self._feed(turn)
                ended = await turn
            finally:
                self._results.flush()
            if ended.cause in _NO_MORE:
                break
        if self.stopped:
            return EXIT_INTERRUPTED
        if not self._begun and not self._has_bad_lines:
            raise UsageError("Standard input has no prompt. Write one JSON object per line: docs/how-to/headless.md.")
        return self._results.exit_code or (EXIT_USAGE if self._has_bad_lines else EXIT_OK)

    async def _next(self) -> tuple[str, tuple[Image, ...], str] | None:
        """Return the next prompt, from the queue or the next line; None at the end of the input."""
        for waiting in self._agent.conversation.queued:
            if waiting.message.id not in self._earlier_ids:
                return waiting.message.text, waiting.message.images, waiting.message.id
        while (line := self._unread.popleft() if self._unread else await self._reader.lines.get()) is not None:
            if (prompt := self._take(line)) is not None and (text := await self._text(prompt, line)):
                return text, self._images(prompt), ""
        return None

    async def _feed(self, turn: asyncio.Future[TurnEnded]) -> None:
        """Queue the prompts that arrive while the turn runs."""
        while not turn.done():
            getting = asyncio.ensure_future(self._reader.lines.get())
            await asyncio.wait({turn, getting}, return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                getting.cancel()  # no line is lost: it stays in the queue
                break
            line = getting.result()
            if line is None or not await self._agent.wait_for_turn():
                self._unread.append(line)
                break
            if (prompt := self._take(line)) is not None and (text := await self._text(prompt, line)):
                self._agent.queue(text, "later", images=self._images(prompt))
        await asyncio.wait({turn})

    async def _text(self, prompt: PromptLine, line: Line) -> str:
        """Return the expanded text of a prompt. If that fails, report the line as skipped and return ""."""
        try:
            return await self._expand(prompt.text)
        except HoldfastError as error:
            self._skip(line, str(error))
            return ""

    def _skip(self, line: Line, why: str) -> None:
        self._has_bad_lines = True
        self._output.bad_line(line.number, f"Line {line.number} of the input was skipped: {why.rstrip('.')}.")

    def _images(self, prompt: PromptLine) -> tuple[Image, ...]:
        """Return the attached images of a prompt, then those that its text mentions."""
        mentioned = attached_images(self._agent, prompt.text, lambda why: self._output.event(CheckFinding(why)))
        return (*prompt.images, *mentioned)

    def _take(self, line: Line) -> PromptLine | None:
        """Return the prompt of a line, or answer a line of another kind and return None."""
        input_line: InputLine | None
        input_line = (
            BadLine(f"It has more than {LONGEST_LINE // 1024**2} MB")
            if line.text is None
            else parse_input_line(line.text)
        )
        match input_line:
            case PromptLine():
                return input_line
            case InterruptLine(request=request):
                self._agent.stop(StopCause("user"))
                self._output.answer(request)
            case RefusedRequest(request=request, why=why):
                self._output.answer(request, error=why)
            case BadLine(why=why):
                self._skip(line, why)
            case None:
                pass
        return None
