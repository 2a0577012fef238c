"""A run that reads its prompts from the lines of standard input, one turn after another: a codec of the host.

How it works. Each line becomes a prompt of the host, which begins a turn, or queues it for later if one runs: the entry
is on disk before the `message` or the `queued` line is written. So each prompt acknowledged by such a line is in the
journal, whenever the process dies. The next line is read once the one before it is acknowledged or refused.

After a turn that is stopped or fails, an interactive session does not send its queued messages. Here this run queued
them, so each is sent anyway, in order (`held_messages` of the host's rules). Messages that an earlier run left in the
queue stay there.

Lines are not just read ahead into memory, because a prompt that is neither journalled nor refused would be lost in a
crash without a trace. A line that is still in memory is not acknowledged.

Example: three lines arrive at once. The first begins a turn, the other two are queued. The turn fails because the
provider does not answer: its result has exit code 75, the second prompt begins the next turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.agent.events import Event, Fact, TurnFailed
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE, HoldfastError, StateError, UsageError
from holdfast.host.commands import CommandResult, Prompt, Stop
from holdfast.host.events import HostEvent, Idle, Opened
from holdfast.host.hosted_session import LAST_CAUSES
from holdfast.host.session_host import SessionHost
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import PromptAccepted, TurnEnded
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


class TurnResults:
    """Writes the events of the run, and a result after each turn."""

    def __init__(
        self, output: StreamJsonOutput, conversation: Callable[[], Conversation], own_tests: tuple[str, ...] = ()
    ) -> None:
        self.exit_code = EXIT_OK
        """The exit code of the last turn that failed or was stopped."""
        self.over = False
        """Whether a turn ended after which no further one can run."""
        self._output = output
        self._conversation = conversation
        self._watch = TurnWatch(own_tests)
        self._ended: tuple[TurnEnded, Conversation] | None = None

    def event(self, event: HostEvent) -> None:
        """Write the event. A turn's result follows when its fault is known too."""
        if isinstance(event, Idle) or (isinstance(event, Fact) and isinstance(event.entry, PromptAccepted)):
            self._flush()
        if not isinstance(event, Event):
            return
        self._watch.see(event)
        self._output.event(event)
        match event:
            case Fact(entry=TurnEnded() as turn) if turn.cause != "crash":
                self._ended = turn, self._conversation()
                self.over = turn.cause in LAST_CAUSES
            case TurnFailed():
                self._flush()
            case _:
                pass

    def _flush(self) -> None:
        """Write the result of the turn that has ended, unless it is written."""
        if self._ended is not None:
            ended, self._ended = self._watch.ended(*self._ended), None
            self.exit_code = ended.exit_code or self.exit_code
            self._output.end(ended)


class PromptStream:
    """The turns of one run, from lines that become prompts."""

    def __init__(
        self,
        host: SessionHost,
        reader: LineReader,
        output: StreamJsonOutput,
        begin: Callable[[Opened], None],
        own_tests: tuple[str, ...] = (),
    ) -> None:
        """Create it; `begin` writes the start of the run."""
        self._host = host
        self._reader = reader
        self._output = output
        self._begin = begin
        self._results = TurnResults(output, lambda: host.agent.conversation, own_tests)
        self.stopped = False
        """Whether the run was stopped from outside."""
        self._has_bad_lines = False
        self._turns: list[asyncio.Future[CommandResult]] = []
        self._failed: BaseException | None = None

    def stop(self, cause: StopCause) -> None:
        """End the run: stop the turn, and start no other."""
        self.stopped = True
        self._host.submit(Stop(cause.cause, cause.detail))
        self._reader.stop()

    async def run(self) -> tuple[bool, int]:
        """Run a turn for each prompt until the input ends. Return whether it was stopped, and the exit code."""
        try:
            self._host.listen(self._show)
            code = await self._read()
            return self.stopped, code
        finally:
            await self._host.close()

    def _show(self, event: HostEvent) -> None:
        if isinstance(event, Opened):
            self._begin(event)
        else:
            self._results.event(event)

    async def _read(self) -> int:
        self._reader.start()
        while (line := await self._reader.lines.get()) is not None and not self._is_over:
            if (prompt := self._take(line)) is not None:
                await self._submit(prompt, line)
        if self._turns:
            await asyncio.wait(self._turns)
        if self._failed is not None:
            raise self._failed
        if self.stopped:
            return EXIT_INTERRUPTED
        if not self._turns and not self._has_bad_lines:
            raise UsageError("Standard input has no prompt. Write one JSON object per line: docs/how-to/headless.md.")
        return self._results.exit_code or (EXIT_USAGE if self._has_bad_lines else EXIT_OK)

    @property
    def _is_over(self) -> bool:
        return self.stopped or self._results.over or self._failed is not None

    async def _submit(self, prompt: PromptLine, line: Line) -> None:
        """Submit a prompt, and wait until it is acknowledged. One that cannot be made into text is skipped."""
        submission = self._host.submit(Prompt(prompt.text, "later", prompt.images))
        try:
            await submission.accepted
        except StateError:
            raise
        except HoldfastError as error:
            self._skip(line, str(error))
            return
        self._turns.append(submission.ended)
        submission.ended.add_done_callback(self._turn_ended)

    def _turn_ended(self, ended: asyncio.Future[CommandResult]) -> None:
        """Read no further line if no turn can follow."""
        self._failed = self._failed or ended.exception()
        if self._is_over:
            self._reader.stop()

    def _skip(self, line: Line, why: str) -> None:
        self._has_bad_lines = True
        self._output.bad_line(line.number, f"Line {line.number} of the input was skipped: {why.rstrip('.')}.")

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
                self._host.submit(Stop())
                self._output.answer(request)
            case RefusedRequest(request=request, why=why):
                self._output.answer(request, error=why)
            case BadLine(why=why):
                self._skip(line, why)
            case None:
                pass
        return None
