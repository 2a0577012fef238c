"""The blocks of a transcript: frozen values, each with a key that it keeps as long as it exists.

One rule: a block's text is unchanged; the code that draws it makes it printable.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Literal, TypeAlias

import msgspec

from holdfast.session.journal.entries import CallEnded, Cause, ShellEnded, ShellStarted, StopReason
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Effect
from holdfast.ui.view.declared_arguments import declared_arguments
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


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """The user's prompt, which starts turn number `turn`; 0 if it joined the running turn.

    `shown` is what to show of it while it is collapsed, "" for its text.
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


class EditChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file change as the model wrote it: `old` becomes `new`; `old` is None if the whole file is written.

    `line` is its position in the file, from 1, if known.
    """

    path: str
    old: str | None
    new: str
    everywhere: bool = False
    line: int | None = None


class TodoLine(msgspec.Struct, frozen=True):
    """One item of a to-do list."""

    text: str
    state: Literal["open", "doing", "done"] = "open"


class CallBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call and its state.

    `call` is its ID in the journal, "" until the model has written it. `title` is one line with its name and its most
    telling argument, `arguments` the raw string; neither hides anything. `is_written` counts the characters of the
    arguments. `since` is its start while it runs. `output` is the head and tail of its output, `result` what the model
    reads. `asked` is the question of the approval prompt. A call named `!` is the user's own command, with the command
    in `arguments`; `shared` if the model reads its output.
    """

    key: BlockKey
    call: str
    name: str
    title: str
    arguments: str
    state: CallState
    written: int = 0
    effect: Effect | None = None
    edit: EditChange | None = None
    todo: tuple[TodoLine, ...] = ()
    shared: bool = False
    since: float | None = None
    seconds: float | None = None
    output: str = ""
    result: str = ""
    asked: str = ""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened, in words; `detail` is more text, shown on request."""

    key: BlockKey
    kind: NoteKind
    text: str
    detail: str = ""


class TurnEnd(msgspec.Struct, frozen=True, kw_only=True):
    """The end of turn `turn`; `text` is the sentence that says why, "" if it ended regularly."""

    key: BlockKey
    turn: int
    reason: StopReason
    cause: Cause
    text: str


Block = Prompt | AnswerBlock | Thinking | CallBlock | Note | TurnEnd


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
        edit=_edit(part),
        todo=_todo(part),
    )


def own_command(key: BlockKey, entry: ShellStarted, *, since: float | None) -> CallBlock:
    """Return the block of a running command of the user's own."""
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


def ended(call: CallBlock, entry: CallEnded | ShellEnded) -> CallBlock:
    """Return the call with its outcome."""
    edit = call.edit
    if edit is not None and (found := _AT.search(entry.text)) is not None:
        edit = msgspec.structs.replace(edit, line=int(found[1]))
    said, took = entry.text, entry.seconds
    return msgspec.structs.replace(
        call, state=entry.outcome, since=None, seconds=took, output="", result=said, edit=edit
    )


class _Write(msgspec.Struct, frozen=True):
    """The arguments of a call that writes a file."""

    path: str
    content: str


_BETWEEN = "\n…\n"  # the lines between two replacements of one call


class _Piece(msgspec.Struct, frozen=True):
    """One of several replacements."""

    old: str
    new: str
    all: bool = False


class _Replace(msgspec.Struct, frozen=True):
    """The arguments of a call that replaces text in a file."""

    path: str
    old: str = ""
    new: str = ""
    all: bool = False
    edits: tuple[_Piece, ...] = ()


def _edit(part: CallPart) -> EditChange | None:
    """Return the file change of a call, None for other tools and unknown arguments."""
    try:
        match part.name:
            case "write":
                wanted = msgspec.json.decode(declared_arguments(part), type=_Write)
                return EditChange(path=wanted.path, old=None, new=wanted.content)
            case "edit":
                edit = msgspec.json.decode(declared_arguments(part), type=_Replace)
                pieces = [_Piece(edit.old, edit.new, edit.all)] if edit.old else []
                return _pieces(edit.path, [*pieces, *edit.edits])
            case _:
                return None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _pieces(path: str, pieces: list[_Piece]) -> EditChange | None:
    if not pieces:
        return None
    return EditChange(
        path=path,
        old=_BETWEEN.join(each.old for each in pieces),
        new=_BETWEEN.join(each.new for each in pieces),
        everywhere=any(each.all for each in pieces),
    )


class _Todo(msgspec.Struct, frozen=True):
    """The arguments of a call that writes a to-do list."""

    items: tuple[TodoLine, ...]


def _todo(part: CallPart) -> tuple[TodoLine, ...]:
    """Return the to-do list of a call, empty for other tools and unknown arguments."""
    if part.name != "todo":
        return ()
    try:
        return msgspec.json.decode(declared_arguments(part), type=_Todo).items
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ()


_HEAD = 4_000
_AT = re.compile(r": \d+ replacements?(?:, the first)? at line (\d+) \(\+\d+ -\d+ lines\)\.")
_SAYS_MOST = re.compile(r'"(?:command|path|pattern|url|query|question|file_path)"\s*:\s*"((?:[^"\\]|\\.)*)')


def is_written(call: CallBlock, more: str) -> CallBlock:
    """Return a call with more of its arguments; of long ones only the beginning is kept until they are complete."""
    arguments = (call.arguments + more)[:_HEAD]
    found = _SAYS_MOST.search(arguments)
    said = found[1] if found else ""
    with suppress(msgspec.DecodeError):
        said = msgspec.json.decode(f'"{said}"', type=str)
    title = f"{call.name} {' '.join(said.split())[:100]}".rstrip()
    return msgspec.structs.replace(call, title=title, arguments=arguments, written=call.written + len(more))
