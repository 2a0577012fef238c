"""The event stream as text, as one JSON object, or as JSON lines: three serialisers, no decisions.

Two rules. What is printed does nothing to a terminal, also to one behind a pipe. Of a line about a call nothing is
hidden: it shows what is really run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TextIO

from holdfast.agent.events import (
    Event,
    Fact,
    Finding,
    LiveCall,
    LiveOutput,
    LiveText,
    LiveThinking,
    NotRecorded,
    Shortening,
)
from holdfast.session.conversation import Conversation
from holdfast.session.entries import (
    ApprovalAsked,
    CallEnded,
    CallLate,
    CallPart,
    CallStarted,
    Compacted,
    Entry,
    FilesChanged,
    PromptAccepted,
    Pruned,
    Queued,
    Recalled,
    Repaired,
    RequestFailed,
    ResponseEnded,
    Rewound,
    ShellEnded,
    ShellStarted,
    Steered,
    TextPart,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.words import what_happened
from holdfast.text import literal, printable
from holdfast.ui.account import Telling, account, retrying
from holdfast.ui.writer import Courier, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What a run begins with; `last_turn` is what is journalled of the turn before it."""

    session: str
    model: str
    mode: str
    cwd: str
    tools: tuple[str, ...]
    resumed: bool
    last_turn: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What a run ends with: its turn, and the conversation and the exit code as of then."""

    turn: TurnEnded
    conversation: Conversation
    exit_code: int


class Output(Protocol):
    """One way to show a run; nothing but `close` ever waits for a reader."""

    def begin(self, opened: Opened) -> None:
        """Show what the run begins with."""
        ...

    def event(self, event: Event) -> None:
        """Show an event."""
        ...

    def end(self, ended: Ended) -> None:
        """Show how it ended."""
        ...

    def fail(self, ended: Ended, message: str) -> None:
        """Show how a run ended that could not go on; the caller says the message on standard error."""
        ...

    def close(self, within: float | None) -> str:
        """Return once readers have everything, or after `within` seconds; why it could not be written, or ""."""
        ...


class TextOutput:
    """The answer on standard output, what happens on standard error.

    A terminal sees the text as it streams; a pipe or a file gets the final answer alone.
    """

    def __init__(self, stdout: TextIO, stderr: TextIO, *, gone: Callable[[str], None]) -> None:
        courier = Courier()
        self._out = Writer(stdout, gone, courier=courier)
        one_screen = stdout.isatty() and stderr.isatty()  # then what came first is seen first
        self._err = Writer(stderr, lambda _: None, courier=courier if one_screen else Courier())
        self._telling = Telling()
        self._mid_line = False

    def begin(self, opened: Opened) -> None:
        """Say which session it is, and what its last turn left."""
        how = "resumed" if opened.resumed else "new"
        self._note(f"session {opened.session} ({how}) · {opened.model} · {opened.mode}")
        for entry in opened.last_turn:
            self._telling.line(entry)  # its calls are known from here on
        for line in account(opened.last_turn):
            self._note(line)

    def event(self, event: Event) -> None:
        """Show streamed text, calls with their outcomes, retries, and what was found on resuming."""
        match event:
            case LiveText(text=text):
                if self._out.terminal:
                    self._write(text)
            case NotRecorded(message=message) | Finding(message=message) | Shortening(message=message):
                self._note(message)
            case Fact(entry=RequestFailed() as failed) if failed.retry_in is not None:
                self._note(retrying(failed))
            case Fact(entry=Repaired(findings=findings)):
                for finding in findings:
                    self._note(f"damage found: {finding}")
            case Fact(entry=TurnEnded() as ended) if ended.cause != "crash":
                pass  # this run's own, told at its end
            case Fact(entry=entry):
                if isinstance(entry, ResponseEnded):
                    self._end_line()
                if line := self._telling.line(entry):
                    self._note(line)
            case _:
                pass

    def end(self, ended: Ended) -> None:
        """Print the answer if it was not streamed, and why the turn ended if not by itself."""
        if not self._out.terminal and (answer := ended.conversation.answer):
            self._write(answer)
        self._end_line()
        if ended.turn.cause != "finished":
            self._note(self._telling.line(ended.turn))
        elif not ended.conversation.answer:
            self._note("the model ended its turn without an answer")

    def fail(self, ended: Ended, message: str) -> None:
        """Show nothing more: the message is said."""
        del ended, message
        self._end_line()

    def close(self, within: float | None) -> str:
        """Wait for the readers of both streams."""
        began = time.monotonic()
        unwritten = self._out.close(within)
        self._err.close(None if within is None else max(0.0, began + within - time.monotonic()))
        return unwritten

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


class JsonOutput:
    """One JSON object when the turn has ended, nothing before."""

    def __init__(self, stdout: TextIO, *, gone: Callable[[str], None]) -> None:
        self._out = Writer(stdout, gone, courier=Courier())
        self._session = ""

    def begin(self, opened: Opened) -> None:
        """Remember the session."""
        self._session = opened.session

    def event(self, event: Event) -> None:
        """Show nothing: the journal has it all."""

    def end(self, ended: Ended) -> None:
        """Print the result."""
        self._out.write(json.dumps(result(self._session, ended)) + "\n")

    def fail(self, ended: Ended, message: str) -> None:
        """Print the result."""
        del message
        self.end(ended)

    def close(self, within: float | None) -> str:
        """Wait for the reader."""
        return self._out.close(within)


class StreamJsonOutput:
    """One JSON object a line, ASCII only, as things happen: init, message, thinking, tool_use, … result."""

    def __init__(self, stdout: TextIO, *, gone: Callable[[str], None]) -> None:
        self._out = Writer(stdout, gone, courier=Courier())
        self._session = ""

    def begin(self, opened: Opened) -> None:
        """Print the init line."""
        self._session = opened.session
        self._line(
            type="init",
            session_id=opened.session,
            model=opened.model,
            permission_mode=opened.mode,
            cwd=opened.cwd,
            tools=list(opened.tools),
            resumed=opened.resumed,
            account=list(account(opened.last_turn)),
        )

    def event(self, event: Event) -> None:
        """Print the event's line; docs/events.md lists them."""
        match event:
            case LiveText(text=text):
                self._line(type="message", role="assistant", content=text, delta=True)
            case LiveThinking(text=text):
                self._line(type="thinking", content=text, delta=True)
            case LiveCall(index=index, name=name, arguments=arguments):
                self._line(type="tool_use", index=index, name=name, arguments=arguments, delta=True)
            case LiveOutput(call=call, text=text):
                self._line(type="tool_output", id=call, content=text, delta=True)
            case Shortening(message=message):
                self._line(type="compacting", message=message)
            case NotRecorded(message=message):
                self._line(type="error", message=message)
            case Finding(message=message):
                self._line(type="finding", message=message)
            case Fact(entry=entry):
                self._fact(entry)

    def end(self, ended: Ended) -> None:
        """Print the result line."""
        self._line(**result(self._session, ended))

    def fail(self, ended: Ended, message: str) -> None:
        """Print an error line, then the result line."""
        self._line(type="error", message=message)
        self.end(ended)

    def close(self, within: float | None) -> str:
        """Wait for the reader."""
        return self._out.close(within)

    def _fact(self, entry: object) -> None:
        match entry:
            case PromptAccepted():
                self._line(type="message", role="user", content=entry.text, turn=entry.turn)
            case Queued() | Recalled() | Steered() | Rewound() | ShellStarted() | ShellEnded():
                self._said(entry)
            case Pruned() | Compacted() | Uncompacted():
                self._left_out(entry)
            case ResponseEnded():
                text = "".join(part.text for part in entry.parts if isinstance(part, TextPart))
                if text:
                    self._line(type="message", role="assistant", content=text, delta=False, cut=entry.cut)
                if entry.cut is None:
                    for part in entry.parts:
                        if isinstance(part, CallPart):
                            self._line(
                                type="tool_use", id=part.id, name=part.name, arguments=part.arguments, delta=False
                            )
            case ApprovalAsked():
                self._line(type="approval", id=entry.call, question=entry.why)
            case CallStarted():
                self._line(type="tool_start", id=entry.call, effect=entry.effect)
            case CallEnded():
                self._line(
                    type="tool_result", id=entry.call, outcome=entry.outcome, content=entry.text, seconds=entry.seconds
                )
            case CallLate():
                self._line(type="tool_result", id=entry.call, outcome=entry.outcome, content=entry.text, late=True)
            case RequestFailed():
                self._line(
                    type="error",
                    message=entry.message,
                    fault=entry.fault,
                    status=entry.status,
                    attempt=entry.attempt,
                    retry_in=entry.retry_in,
                    retry_whole=entry.retry_whole,
                )
            case FilesChanged() | Repaired():
                self._found(entry)
            case TurnEnded(cause="crash"):
                self._line(type="recovered", turn=entry.turn, message=what_happened(entry.cause, entry.detail))
            case _:
                pass

    def _found(self, entry: FilesChanged | Repaired) -> None:
        match entry:
            case FilesChanged():
                gone = [file.path for file in entry.files if file.size is None]
                changed = [file.path for file in entry.files if file.size is not None]
                self._line(type="files_changed", changed=changed, gone=gone)
            case Repaired():
                self._line(type="damage", findings=list(entry.findings))

    def _left_out(self, entry: Pruned | Compacted | Uncompacted) -> None:
        match entry:
            case Pruned():
                self._line(type="pruned", calls=list(entry.outputs), saved=entry.saved)
            case Compacted():
                self._line(
                    type="compacted",
                    cause=entry.why,
                    model=entry.model,
                    content=entry.note,
                    messages=entry.messages,
                    before=entry.before,
                    after=entry.after,
                )
            case Uncompacted():
                self._line(type="uncompacted")

    def _said(self, entry: Queued | Recalled | Steered | Rewound | ShellStarted | ShellEnded) -> None:
        match entry:
            case Queued():
                self._line(type="queued", id=entry.id, content=entry.text, when=entry.when)
            case Recalled():
                self._line(type="recalled", id=entry.queued)
            case Steered():
                self._line(type="message", role="user", content=entry.text, queued=entry.queued)
            case Rewound():
                self._line(type="rewound", turn=entry.turn)
            case ShellStarted():
                self._line(type="shell_start", id=entry.id, command=entry.command, shared=entry.shared)
            case ShellEnded():
                self._line(
                    type="shell_result", id=entry.id, outcome=entry.outcome, content=entry.text, seconds=entry.seconds
                )

    def _line(self, **fields: object) -> None:
        self._out.write(json.dumps(fields) + "\n")


def result(session: str, ended: Ended) -> dict[str, object]:
    """Return the machine-readable end of a run (docs/events.md)."""
    conversation = ended.conversation
    usage = conversation.usage
    return {
        "type": "result",
        "session_id": session,
        "turn": ended.turn.turn,
        "stop_reason": ended.turn.reason,
        "cause": ended.turn.cause,
        "detail": ended.turn.detail,
        "is_error": ended.exit_code != 0,
        "exit_code": ended.exit_code,
        "result": conversation.answer if conversation.turns == ended.turn.turn else "",
        "steps": conversation.turn_steps,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cache_read_tokens": usage.cache_read_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
            "cost_usd": usage.cost,
        },
    }
