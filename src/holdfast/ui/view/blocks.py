"""The blocks of a transcript: frozen values, each with a constant key.

A block contains the original text; the code that draws it makes it printable.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Literal, TypeAlias

import msgspec

from holdfast.session.journal.entries import CallEnded, Cause, ShellEnded, ShellStarted, StopReason
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Confined, Effect
from holdfast.typed_data import decode_json
from holdfast.ui.view.declared_arguments import declared_arguments, declared_name
from holdfast.ui.view.edit_changes import EditChange, edit_changes
from holdfast.ui.view.sentences import NoteKind, call_line

BlockKey: TypeAlias = str

CallState = Literal[
    "writing",  # the model is writing it
    "ready",  # complete, not started
    "waiting",  # for the user's approval
    "running",
    "ok",
    "failed",
    "denied",
    "not_started",
    "interrupted",
    "lost",  # no outcome in the journal, and nothing is running
]
"""The state of a call: in progress, one of the five outcomes, or lost."""

IN_PROGRESS: frozenset[CallState] = frozenset({"writing", "ready", "waiting", "running"})
"""The states of a call in progress."""


class UserBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The user's prompt, which starts turn number `turn`; 0 if it joined the running turn.

    `shown` is the text to show while it is collapsed, "" for `text`.
    """

    key: BlockKey
    turn: int
    text: str
    shown: str = ""


class AnswerBlock(msgspec.Struct, frozen=True, kw_only=True):
    """Text of the model in Markdown: streaming, complete, or cut off."""

    key: BlockKey
    text: str
    state: Literal["live", "done", "cut"]


class Thinking(msgspec.Struct, frozen=True, kw_only=True):
    """The model's reasoning: `since` is its start while it is in progress, `seconds` its duration, if known."""

    key: BlockKey
    text: str
    live: bool = False
    since: float | None = None
    seconds: float | None = None


class TodoLine(msgspec.Struct, frozen=True):
    """One item of a to-do list."""

    text: str
    state: Literal["open", "doing", "done"] = "open"


class CallBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call and its state.

    `call` is its ID in the journal, "" until the model has written it. `title` is one line with its name and its main
    argument, `arguments` the raw string; neither hides anything. `written` counts the characters of the
    arguments. `since` is its start while it runs. `output` is the head and tail of its output, `result` what the model
    reads. `printed` is the same as `output`, of a call that has ended, if it had colours: no journal has them.
    `question` is that of the approval prompt, `confined` the wall around a command. A call named `!` is the user's own
    command, with the command in `arguments`; `shared` if the model reads its output.
    """

    key: BlockKey
    call: str
    name: str
    title: str
    arguments: str
    state: CallState
    written: int = 0
    effect: Effect | None = None
    edits: tuple[EditChange, ...] = ()
    todo: tuple[TodoLine, ...] = ()
    shared: bool = False
    since: float | None = None
    seconds: float | None = None
    output: str = ""
    printed: str = ""
    result: str = ""
    question: str = ""
    confined: Confined = ""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A message about an event; `detail` is more text, shown on request."""

    key: BlockKey
    kind: NoteKind
    text: str
    detail: str = ""


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of turn `turn`; `text` says why, "" if it ended regularly."""

    key: BlockKey
    turn: int
    reason: StopReason
    cause: Cause
    text: str


Block = UserBlock | AnswerBlock | Thinking | CallBlock | Note | TurnEnd


def call_block(part: CallPart, key: BlockKey, *, cut: bool) -> CallBlock:
    """Return the block of a call that the model has written; in a `cut` response it will never start."""
    return CallBlock(
        key=key,
        call=part.id,
        name=part.name,
        title=call_line(part),
        arguments=part.arguments,
        state="not_started" if cut else "ready",
        written=len(part.arguments),
        edits=edit_changes(part),
        todo=_todo(part),
    )


def user_command(key: BlockKey, entry: ShellStarted, *, since: float | None) -> CallBlock:
    """Return the block of a running user command."""
    title, words = f"! {' '.join(entry.command.split())}", entry.command
    return CallBlock(
        key=key,
        call=entry.id,
        name="!",
        title=title,
        arguments=words,
        state="running",
        shared=entry.shared,
        since=since,
    )


def with_outcome(call: CallBlock, entry: CallEnded | ShellEnded, output: str = "") -> CallBlock:
    """Return the call with its outcome; `output` is what was shown of it while it ran."""
    edits = call.edits
    if len(edits) == 1 and (found := _AT.search(entry.text)) is not None:
        edits = (msgspec.structs.replace(edits[0], line=int(found[1])),)
    text, took = entry.text, entry.seconds
    printed = output if "\x1b[" in output else ""
    return msgspec.structs.replace(
        call, state=entry.outcome, since=None, seconds=took, output="", printed=printed, result=text, edits=edits
    )


class _Todo(msgspec.Struct, frozen=True):
    """The arguments of a call that writes a to-do list."""

    items: tuple[TodoLine, ...]


def _todo(part: CallPart) -> tuple[TodoLine, ...]:
    """Return the to-do list of a call, empty for other tools and unknown arguments."""
    if declared_name(part) != "todo":
        return ()
    try:
        return decode_json(declared_arguments(part), _Todo).items
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ()


_HEAD = 4_000
_AT = re.compile(r": \d+ replacements?(?:, the first)? at line (\d+) \(\+\d+ -\d+ lines\)\.")
_MAIN_ARGUMENT = re.compile(r'"(?:command|path|pattern|url|query|question|file_path)"\s*:\s*"((?:[^"\\]|\\.)*)')


def add_arguments(call: CallBlock, more: str) -> CallBlock:
    """Return a call with more of its arguments; until they are complete, only their beginning is stored."""
    arguments = (call.arguments + more)[:_HEAD]
    found = _MAIN_ARGUMENT.search(arguments)
    value = found[1] if found else ""
    with suppress(msgspec.DecodeError):
        value = decode_json(f'"{value}"', str)
    title = f"{call.name} {' '.join(value.split())[:100]}".rstrip()
    return msgspec.structs.replace(call, title=title, arguments=arguments, written=call.written + len(more))
