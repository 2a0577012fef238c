"""The interface of a tool: a schema, a plan without effects, and a run that acts.

The user approves and the journal records the plan before anything happens. A tool never decides whether it may run;
`holdfast.tools.approval.decision` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import (
    Confined,
    Effect,
    FileChange,
    FileCheck,
    FileSeen,
    Image,
    InputRequest,
    Leaving,
    Mode,
    ProcessId,
    RemoteCall,
    ServerAnswer,
    ToolSchema,
    UserQuestion,
)
from holdfast.tools.approval.command_parts import CommandParts


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session works: `root` is absolute and resolved; `spool` is a folder for live output.

    `outputs` (absolute, resolved) is the folder with the complete outputs of commands, None if they are not kept. No
    file tool writes beneath `private` (absolute, resolved), which is holdfast's. Reading beneath `readable` (likewise)
    needs no approval although it is outside: they hold skills.
    """

    root: Path
    spool: Path
    outputs: Path | None = None
    private: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()


class ToolOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run: the model reads `text`; `ok` False makes the call `failed` (a non-zero exit, for example).

    `interrupted` means that the tool was stopped early; `text` is then its partial result. `snapshots` are the files
    whose content the model now knows. `images` are shown with the text. `exit` is the exit code of a command that ended
    by itself.
    """

    text: str
    ok: bool = True
    interrupted: bool = False
    snapshots: tuple[FileSeen, ...] = ()
    images: tuple[Image, ...] = ()
    exit: int | None = None


class Traces(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a command whose end was not journalled.

    `output` is its result, or `interrupted` with the output so far; `seconds` is how long it ran, 0 if unknown.
    """

    output: ToolOutput
    seconds: float = 0.0


class Tasks(Protocol):
    """The background tasks of a session, as its tools see them."""

    async def poll(self, task: str, *, call: str, seconds: float, stop: asyncio.Event) -> ToolOutput:
        """Return the output since the last poll, and the task's state; wait up to `seconds` for its end.

        A poll by a `call` that was rewound does not count. Raises `ToolFailed` for an unknown task.
        """
        ...

    async def stop(self, task: str) -> ToolOutput:
        """End the task and return a message that says so; raises `ToolFailed` for an unknown task."""
        ...


Visibility = Literal["all", "name", "nothing"]
"""What a search may show of a file: all of it, that it is there, or nothing."""


class ToolContext(msgspec.Struct, frozen=True, kw_only=True):
    """The context of a running call.

    `stop` is set when the call should end soon: a tool that waits must watch it and return its partial result, with
    `interrupted=True`. `emit` takes live output (valid Unicode, any size) and never blocks. Call `report_process` with
    a process as soon as it runs, so that recovery can find it. `tasks` are the session's background tasks, None if it
    cannot have any. `mode` is the current approval mode. `may_read` returns what a search may show of the file
    at an absolute path; without `has_read_rules`, that only depends on whether it holds secrets.

    `confined` is the level at which a command runs, `by_user` whether the user or a rule of theirs allowed it, `typed`
    whether the user typed it, so that its result is written for the user.

    `consult` asks the user the questions of a server and returns the answers; `has_user` is whether there is a user to
    ask. `pending_request` has the unanswered questions of a call that a crash interrupted: the call resumes with them.
    `report_late` takes the outcome of a call that has already returned as interrupted.
    """

    call: str
    stop: asyncio.Event
    emit: Callable[[str], None]
    report_process: Callable[[ProcessId], None] = msgspec.field(default=lambda _: None)
    tasks: Tasks | None = None
    mode: Mode = "ask"
    may_read: Callable[[str], Visibility] = msgspec.field(default=lambda _: "all")
    has_read_rules: bool = True
    consult: Callable[[InputRequest], Awaitable[tuple[ServerAnswer, ...]]] | None = None
    has_user: bool = False
    pending_request: InputRequest | None = None
    confined: Confined = ""
    by_user: bool = False
    typed: bool = False
    report_late: Callable[[ToolOutput], None] | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a call will do if it is allowed. `run` may be called once.

    For the user, `title` is one line ("edit src/app.py", "run: make test"); `detail` is more (a diff, the full
    command). `outside` is a path outside the workspace that the call touches, else None; `host` is a network host that
    it contacts, else "". `reads` are the absolute paths that it reads; of an edit, those whose content its result
    depends on.

    A file edit has `changes`, one for each file. `originals` are the contents before, for a surface that shows more
    than `detail` does. `known_as` is a name under which another program would run the file.

    A command can be confined at `levels`, none where no wall works. The model asks for the addresses `network`, or says
    in `leaves` why it must run outside. `sandbox_required` is the user's setting. With `hides_secrets`, the files with
    secrets in the workspace are known and can be hidden; `cannot_hide` is why not. `sandbox_notice` says why there is
    no wall, or not at every level, "" if all is well or the user was told.

    A shell command has `command` and runs in `folder` (relative to the workspace, "" for the workspace itself); `line`
    are its parsed parts, None if it was not parsed. Live output goes to `spool`, a file name in the workspace's spool
    folder; `output_file` will have all of the output, "" if no file will. With `background`, it runs on while the turn
    continues. `release`, if any, is called when a running command is moved to the background: its time limit is lifted.

    With `presents`, `detail` is a plan of the model, in Markdown, and the user is asked in every mode. The same holds
    for a `question` of the model: the user's answer is the outcome of the call, and `run` is not called. `tool` is the
    name that rules use, "" for the name of the called tool. `remote` is the tool of a server that the call uses.
    """

    effect: Effect
    title: str
    run: Callable[[ToolContext], Awaitable[ToolOutput]]
    detail: str = ""
    outside: str | None = None
    changes: tuple[FileChange, ...] = ()
    originals: tuple[bytes, ...] = ()
    known_as: str = ""
    spool: str | None = None
    output_file: str = ""
    command: str = ""
    folder: str = ""
    background: bool = False
    release: Callable[[], None] | None = None
    line: CommandParts | None = None
    host: str = ""
    reads: tuple[str, ...] = ()
    presents: bool = False
    question: UserQuestion | None = None
    tool: str = ""
    remote: RemoteCall | None = None
    levels: tuple[Confined, ...] = ()
    network: tuple[str, ...] = ()
    leaves: str = ""
    sandbox_required: bool = False
    hides_secrets: bool = True
    cannot_hide: str = ""
    sandbox_notice: str = ""

    @property
    def asks_level(self) -> Leaving:
        """Return the level that a question about the command names, "" if it would run as it is."""
        return self.requested if "workspace" in self.levels else ""

    @property
    def requested(self) -> Leaving:
        """Return what the model asks for, if the command can be confined: a level, or to run outside."""
        if not self.levels:
            return ""
        return "outside" if self.leaves else "network" if self.network else "workspace"

    @property
    def is_for_the_user(self) -> bool:
        """Return whether only the user can decide the call, in every mode."""
        return self.presents or self.question is not None


class TellingFailure(ToolFailed):
    """A call fails, and the reason tells what is in the files that `plan.reads`.

    Where the model may not know that unasked, `plan` stands for the call: allowed, it fails with the same text.
    """

    def __init__(self, text: str, *, title: str, reads: tuple[str, ...], outside: str | None = None) -> None:
        """Fail with this text, in a call with that title that changes files."""
        super().__init__(text)
        self._facts = (title, reads, outside)

        async def run(_: ToolContext) -> ToolOutput:
            raise ToolFailed(text)

        self.plan = Plan(effect="write", title=title, outside=outside, reads=reads, run=run)

    def with_text(self, text: str) -> TellingFailure:
        """Return the same failure with another text."""
        title, reads, outside = self._facts
        return TellingFailure(text, title=title, reads=reads, outside=outside)


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
    """An instruction file: `snapshot` is the file when it was read, `text` the part that is shown."""

    snapshot: FileSeen
    text: str


@runtime_checkable
class FolderToolbox(Protocol):
    """A toolbox whose tools work in one folder of this machine."""

    def missing_folder(self) -> str:
        """Return that folder if it does not exist, "" if it does. Never raises."""
        ...


@runtime_checkable
class NestedInstructions(Protocol):
    """A toolbox in whose folder files have instructions of their own, which are read when a call touches them."""

    def nested_instructions(self, paths: Sequence[str]) -> tuple[Instruction, ...]:
        """Return the instructions for these files, as `Instruction.snapshot` names them. Never raises."""
        ...


class Toolbox(Protocol):
    """The tools of a session, and how to gather evidence about calls whose outcome was lost."""

    @property
    def tools(self) -> Mapping[str, Tool]: ...

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Wait up to a second; return whether all processes of an earlier holdfast are known to have exited.

        `commands` are the commands without an outcome: the names of their live output, with their process if known.
        """
        ...

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """End processes that an earlier holdfast left running; return a note about them, "" if there are none.

        `calls` are the calls to search for, with their process if known. Takes up to a second.
        """
        ...

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return the tools that the next turn declares: `declared`, with the current tools of servers.

        If nothing changed, they are the same. The returned tools can be called from now on.
        """
        ...

    def server_reports(self) -> Mapping[str, str]:
        """Return why each MCP server failed that was needed last, "" for one that works. Asks none."""
        ...

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the current instructions of the workspace, the user's file first. Never raises."""
        ...

    def current_snapshot(self, snapshot: FileSeen) -> FileSeen:
        """Return the current state of a file, or `snapshot` itself if nothing changed. Never raises."""
        ...

    def check_change(self, change: FileChange) -> FileCheck:
        """Return whether the file of an interrupted edit has the old, the new or another content. Never raises."""
        ...

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return the traces of a command that began at `since` (seconds since the epoch), if any. Never raises."""
        ...

    def forget(self, spool: str) -> None:
        """Delete the files of a command whose call has its outcome."""
        ...

    def sweep(self, edits: Mapping[str, Sequence[FileChange]]) -> None:
        """Delete leftover files of settled calls; `edits` are their file changes, by call id.

        No call may be running, and each must have its outcome.
        """
        ...

    async def close(self) -> None:
        """End all processes of the tools, within a second."""
        ...
