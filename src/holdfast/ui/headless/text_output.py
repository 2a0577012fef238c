"""One turn as text for a terminal or a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from holdfast.agent.events import CheckFinding, Event, Fact, LiveText, NotRecorded, Shortening
from holdfast.session.journal import entries as e
from holdfast.text import literal, printable
from holdfast.ui.advice import COMMAND_LINE
from holdfast.ui.headless.output_format import RunEnded, RunOpened
from holdfast.ui.headless.status_lines import last_turn_status, status_line
from holdfast.ui.headless.stream_writer import Courier, Writer
from holdfast.ui.view.sentences import Narrator


class TextOutput:
    """Writes the answer to standard output and status lines to standard error.

    A terminal shows the text as it streams; a pipe or file receives only the final answer.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, *, on_closed: Callable[[str], None]) -> None:
        courier = Courier()
        self._out = Writer(stdout, on_closed, courier=courier)
        one_screen = stdout.isatty() and stderr.isatty()  # then the order of both streams must be kept
        self._err = Writer(stderr, lambda _: None, courier=courier if one_screen else Courier())
        self._narrator = Narrator(receipts=False)
        self._mid_line = False

    def begin(self, opened: RunOpened) -> None:
        """Print the session's ID and how its last turn ended."""
        how = "resumed" if opened.resumed else "new" if opened.saved else "new, not kept"
        effort = f" · effort {opened.settings.effort}" if opened.settings.effort else ""
        self._note(f"session {opened.session} ({how}) · {opened.model}{effort} · {opened.mode}")
        for entry in opened.last_turn:
            self._narrator.sentences(entry)  # the narrator learns the calls
        for line in last_turn_status(opened.last_turn):
            self._note(line)

    def event(self, event: Event) -> None:
        """Print streamed text, calls with outcomes, retries, and findings on resuming."""
        match event:
            case LiveText(text=text):
                if self._out.terminal:
                    self._write(text)
            case NotRecorded(message=message) | CheckFinding(message=message) | Shortening(message=message):
                self._note(message)
            case Fact(entry=e.TurnEnded() as ended) if ended.cause != "crash":
                pass  # this run's own turn, printed at its end
            case Fact(entry=entry):
                if isinstance(entry, e.ResponseEnded):
                    self._end_line()
                self._print_sentences(entry)
            case _:
                pass

    def end(self, ended: RunEnded) -> None:
        """Print the answer unless it was streamed, and the cause unless the turn ended regularly."""
        if not self._out.terminal and (answer := ended.conversation.answer):
            self._write(answer)
        self._end_line()
        for denied in ended.denied:
            self._note(f"denied: {denied.line}")
        if ended.turn.cause != "finished":
            advice = f". {COMMAND_LINE[ended.fault]}" if ended.fault is not None else ""
            if ended.turn.cause == "max_cost":
                advice = ". Raise --max-cost, and continue with -c"
            for sentence in self._narrator.sentences(ended.turn):
                self._note(f"{status_line(sentence)}{advice}")
        elif not ended.conversation.answer:
            self._note("the model gave no answer")

    def fail(self, ended: RunEnded, message: str) -> None:
        """Print nothing: the caller prints the message."""
        del ended, message
        self._end_line()

    def close(self, within: float | None) -> str:
        """Wait for the readers of both streams."""
        began = time.monotonic()
        unwritten = self._out.close(within)
        self._err.close(None if within is None else max(0.0, began + within - time.monotonic()))
        return unwritten

    def note(self, text: str) -> None:
        """Print a text of the caller, which may have several lines."""
        for line in text.splitlines():
            self._note(line)

    def prompt(self, text: str) -> None:
        """Print an input prompt, without a newline."""
        self._end_line()
        self._out.write(text)

    def _print_sentences(self, entry: e.Entry) -> None:
        for sentence in self._narrator.sentences(entry):
            if line := status_line(sentence):
                self._note(line)

    def _write(self, text: str) -> None:
        if shown := printable(text):
            self._mid_line = not shown.endswith("\n")
            self._out.write(shown)

    def _end_line(self) -> None:
        if self._mid_line:
            self._mid_line = False
            self._out.write("\n")

    def _note(self, text: str) -> None:
        if self._out.terminal:
            self._end_line()
        self._err.write(literal(text) + "\n")
