"""The interface of a tool: a schema, a plan that only looks, and a run that acts.

`plan` has no effect, so what the user approves and the journal records is known before anything happens. A tool never
decides whether it may run; `holdfast.tools.approval_decision` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from holdfast.tool_calls import (
    Effect,
    FileChange,
    FileCheck,
    FileSeen,
    Image,
    InputRequest,
    Mode,
    ProcessId,
    RemoteCall,
    ServerAnswer,
    ToolSchema,
    UserQuestion,
)
from holdfast.tools.command_parts import CommandParts


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session works: `root` is absolute and resolved; `spool` is a folder for live output.

    `outputs` (absolute, resolved) is the folder of whole outputs that are kept, None if none are. Everything beneath
    `private` (absolute, resolved) is holdfast's own and never written by a file tool.
    """

    root: Path
    spool: Path
    outputs: Path | None = None
    private: tuple[Path, ...] = ()


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run: the model reads `text`; `ok` False makes the call `failed` (a non-zero exit, for example).

    `interrupted` means that the tool was stopped early; `text` is then what it had. `seen` is the file whose content
    the model now knows, `seen_also` further ones, `images` are shown with the text.
    """

    text: str
    ok: bool = True
    interrupted: bool = False
    seen: FileSeen | None = None
    seen_also: tuple[FileSeen, ...] = ()
    images: tuple[Image, ...] = ()


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """What a call left whose end was not journalled.

    `output` is its result, or `interrupted` with the output so far; `seconds` how long it ran, 0 if unknown.
    """

    output: ToolOutput
    seconds: float = 0.0


class Tasks(Protocol):
    """The background tasks of a session, as its tools see them."""

    async def look(self, task: str, *, call: str, seconds: float, stop: asyncio.Event) -> ToolOutput:
        """Return what the task has printed since the last look, and its state; wait up to `seconds` for its end.

        A look by a `call` that a rewind took back does not count. Raises `ToolFailed` for an unknown task.
        """
        ...

    async def stop(self, task: str) -> ToolOutput:
        """End the task and return that it has ended; raises `ToolFailed` for an unknown task."""
        ...


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a running call gets.

    `stop` is set when the call should end soon: a tool that waits must watch it and return what it has, with
    `interrupted=True`. `emit` takes live output (valid Unicode, any size) and never blocks. `began` must be called with
    a process as soon as one runs, so that recovery can find it. `tasks` are the session's background tasks, if it can
    have any. `mode` is the approval mode of the session now. `may_read` says whether rules allow a search to show the
    file at an absolute path; None: every file. `consult` asks the user what a server wants to know, and returns the
    answers; `has_user` says whether there is a user to ask, and `waits` are the questions from which a call goes on
    that a crash interrupted. `late` takes the outcome of a call that has returned as interrupted.
    """

    call: str
    stop: asyncio.Event
    emit: Callable[[str], None]
    began: Callable[[ProcessId], None] = msgspec.field(default=lambda _: None)
    tasks: Tasks | None = None
    mode: Mode = "ask"
    may_read: Callable[[str], bool] | None = None
    consult: Callable[[InputRequest], Awaitable[tuple[ServerAnswer, ...]]] | None = None
    has_user: bool = False
    waits: InputRequest | None = None
    late: Callable[[ToolOutput], None] | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a call will do if it is allowed.

    `title` is one line for the user ("edit src/app.py", "run: make test"); `detail` is more (a diff, the whole
    command). `outside` names a path outside the workspace that it touches, else None; `host` is a network host that it
    contacts, else "". `reads` are the absolute paths of what it reads. `change` is set for file edits, `changes` if
    one call edits several; `originals` are their contents before, for a surface that shows more than `detail` does.
    `known_as` is a name under which another program would run the file. `command` is set for
    shell commands, which run in `folder` (relative to the workspace, "" for the workspace itself); `line` are its
    parts, None if the tool has not looked; `spool` (a file name in the workspace's spool folder) is the live output,
    `kept` the file that will have all of it, "" if none will. `run` may be called once. In the `background` it goes on
    while the turn does. `release`, if any, is called when a running command is moved there: its time limit is lifted.
    `presents` is whether `detail` is a plan of the model, in Markdown: the user is then asked in every mode. So they
    are with `asks`, a question of the model: their answer is the outcome of the call, and `run` is not called.
    `tool` is the name that rules know, "" for that of the called tool. `remote` is the tool of a server that is asked.
    """

    effect: Effect
    title: str
    run: Callable[[ToolContext], Awaitable[ToolOutput]]
    detail: str = ""
    outside: str | None = None
    change: FileChange | None = None
    changes: tuple[FileChange, ...] = ()
    originals: tuple[bytes, ...] = ()
    known_as: str = ""
    spool: str | None = None
    kept: str = ""
    command: str = ""
    folder: str = ""
    background: bool = False
    release: Callable[[], None] | None = None
    line: CommandParts | None = None
    host: str = ""
    reads: tuple[str, ...] = ()
    presents: bool = False
    asks: UserQuestion | None = None
    tool: str = ""
    remote: RemoteCall | None = None

    @property
    def files(self) -> tuple[FileChange, ...]:
        """Return the changes of all files that it edits."""
        return self.changes if self.change is None else (self.change, *self.changes)

    @property
    def is_for_the_user(self) -> bool:
        """Return whether only the user can decide the call, in every mode."""
        return self.presents or self.asks is not None


class Tool(Protocol):
    """One tool for the model."""

    @property
    def schema(self) -> ToolSchema:
        """Return name, description and the JSON schema of the arguments."""
        ...

    @property
    def effect(self) -> Effect:
        """Return the strongest effect of this tool; no plan exceeds it. Calls of `read` tools run in parallel."""
        ...

    def plan(self, call: str, arguments: str) -> Plan:
        """Return what the call would do, without any effect.

        `call` is holdfast's id of the call, `arguments` the raw string the model wrote. Raises `ToolFailed`, with a
        message for the model, if the arguments are invalid or the request is impossible.
        """
        ...


class Instruction(msgspec.Struct, frozen=True, kw_only=True):
    """An instruction file: `seen` is the file when it was read, `text` what is shown of it."""

    seen: FileSeen
    text: str


class Toolbox(Protocol):
    """The tools of a session, and how to gather evidence about calls whose outcome was lost."""

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    async def quiet(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Wait up to a second; return whether all processes of an earlier holdfast are known to have exited.

        `commands` are those without an outcome, by the name of their live output, with their process if known.
        """
        ...

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """End processes that an earlier holdfast left running and return a note about them, "" if there are none.

        Looks for those of `calls`, with their process if known, and takes up to a second.
        """
        ...

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return what the next turn declares: `declared`, with the tools of servers as they are known now.

        The same tools if nothing changed. Those that are returned can be called from now on.
        """
        ...

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the present instructions of the workspace, the user's own first. Never raises."""
        ...

    def present(self, seen: FileSeen) -> FileSeen:
        """Return the present state of a file, or `seen` itself if nothing changed. Never raises."""
        ...

    def look(self, change: FileChange) -> FileCheck:
        """Return which content the file of an interrupted edit has. Never raises."""
        ...

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return what a command that began at `since` (seconds since the epoch) left, None if nothing. Never raises."""
        ...

    def forget(self, spool: str) -> None:
        """Delete what a command left; its call has its outcome."""
        ...

    def sweep(self, edits: Mapping[str, Sequence[FileChange]]) -> None:
        """Delete leftover files of settled calls; `edits` are their file changes, by call id.

        No call may be running, and each must have its outcome.
        """
        ...

    async def close(self) -> None:
        """End all processes of the tools, within a second."""
        ...
