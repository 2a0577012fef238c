"""What a person sees of a session: frozen blocks, each under a key that stays as long as it exists.

One rule: a block's text is as it was said; whoever draws it cleans it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import msgspec

from holdfast.calls import Effect
from holdfast.session.entries import CallEnded, CallPart, Cause, ShellEnded, ShellStarted, StopReason
from holdfast.ui.account import call_line

Key: TypeAlias = str

CallState = Literal[
    "writing",  # the model writes it
    "ready",  # written, not begun
    "waiting",  # for a person's approval
    "running",
    "ok",
    "failed",
    "denied",
    "not_started",
    "interrupted",
    "lost",  # it has no outcome in the journal, and nothing runs
]
"""How far a call is: on its way, one of the five outcomes, or lost."""

NoteKind = Literal[
    "session",
    "model",
    "retry",
    "failed",
    "cut",
    "late",
    "files",
    "rewound",
    "context",
    "damage",
    "repaired",
    "trouble",
]
"""What a note is about; `trouble` is what could not be journalled or a check found, and is in no journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The person's words, which begin turn number `turn`; 0 if they joined the turn that ran."""

    key: Key
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Text of the model, Markdown: it streams, is complete, or was cut off."""

    key: Key
    text: str
    state: Literal["live", "done", "cut"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """The model's reasoning: `since` is when it began, while it goes on; `seconds` what it took, if known."""

    key: Key
    text: str
    live: bool = False
    since: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of a file as the model wrote it: `old` becomes `new`; `old` is None where the whole file is written.

    `line` is where it was in the file, from 1, if that is known.
    """

    path: str
    old: str | None
    new: str
    everywhere: bool = False
    line: int | None = None


class Item(msgspec.Struct, frozen=True):
    """One thing of a list of what is to be done."""

    text: str
    state: Literal["open", "doing", "done"] = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call and its fate.

    `call` is its id in the journal, "" until it is written. `title` is one line with its name and the argument that
    says most, `arguments` the raw string; neither hides anything. `written` counts the characters of the arguments.
    `since` is the clock's time it started while it runs. `output` is what it has printed, its head and tail; `result`
    what the model reads. `asked` is what a person was asked about it. One named `!` is a person's own command, as
    `arguments`, `shared` if the model is told of it.
    """

    key: Key
    call: str
    name: str
    title: str
    arguments: str
    state: CallState
    written: int = 0
    effect: Effect | None = None
    edit: Edit | None = None
    todo: tuple[Item, ...] = ()
    shared: bool = False
    since: float | None = None
    seconds: float | None = None
    output: str = ""
    result: str = ""
    asked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing that happened, in words; `detail` is more of it, for who asks."""

    key: Key
    kind: NoteKind
    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """Turn `turn` is over; `text` says why, "" if it ended by itself."""

    key: Key
    turn: int
    reason: StopReason
    cause: Cause
    text: str


Block = Prompt | Answer | Thinking | Call | Note | TurnEnd


def call_block(part: CallPart, key: Key, *, cut: bool) -> Call:
    """Return the block of a call the model has written; in a response that was `cut` it will never start."""
    return Call(
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


def own_command(key: Key, entry: ShellStarted, *, since: float | None) -> Call:
    """Return the block of a person's own command, which runs."""
    title, words = f"! {' '.join(entry.command.split())}", entry.command
    return Call(
        key=key,
        call=entry.id,
        name="!",
        title=title,
        arguments=words,
        state="running",
        shared=entry.shared,
        since=since,
    )


def ended(call: Call, entry: CallEnded | ShellEnded) -> Call:
    """Return a call with its one fate."""
    edit = call.edit
    if edit is not None and (found := _AT.search(entry.text)) is not None:
        edit = replace(edit, line=int(found[1]))
    said, took = entry.text, entry.seconds
    return replace(call, state=entry.outcome, since=None, seconds=took, output="", result=said, edit=edit)


class _Write(msgspec.Struct, frozen=True):
    """The arguments of a call that writes a file."""

    path: str
    content: str


class _Replace(msgspec.Struct, frozen=True):
    """The arguments of a call that replaces text in a file."""

    path: str
    old: str
    new: str
    all: bool = False


def _edit(part: CallPart) -> Edit | None:
    """Return what a call to change a file changes, None if it is another or says it in another way."""
    try:
        match part.name:
            case "write":
                wanted = msgspec.json.decode(part.arguments, type=_Write)
                return Edit(path=wanted.path, old=None, new=wanted.content)
            case "edit":
                edit = msgspec.json.decode(part.arguments, type=_Replace)
                return Edit(path=edit.path, old=edit.old, new=edit.new, everywhere=edit.all)
            case _:
                return None
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


class _Todo(msgspec.Struct, frozen=True):
    """The arguments of a call that lists what is to be done."""

    items: tuple[Item, ...]


def _todo(part: CallPart) -> tuple[Item, ...]:
    """Return what a call says is to be done, nothing if it is another or says it in another way."""
    if part.name != "todo":
        return ()
    try:
        return msgspec.json.decode(part.arguments, type=_Todo).items
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return ()


_HEAD = 4_000
_AT = re.compile(r": \d+ replacements?(?:, the first)? at line (\d+) \(\+\d+ -\d+ lines\)\.")
_SAYS_MOST = re.compile(r'"(?:command|path|pattern|url)"\s*:\s*"((?:[^"\\]|\\.)*)')


def written(call: Call, more: str) -> Call:
    """Return a call with more of its arguments written; of long ones the beginning is kept until they are complete."""
    arguments = (call.arguments + more)[:_HEAD]
    found = _SAYS_MOST.search(arguments)
    said = found[1] if found else ""
    with suppress(msgspec.DecodeError):
        said = msgspec.json.decode(f'"{said}"', type=str)
    title = f"{call.name} {' '.join(said.split())[:100]}".rstrip()
    return replace(call, title=title, arguments=arguments, written=call.written + len(more))
