"""What a tool is: a schema, a plan that only looks, and a run that acts.

Two rules. `plan` has no effect, so that what is asked of a person and written to the journal is known before anything
happens. A tool never decides whether it may run: that is `holdfast.tools.approval`, in one place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from holdfast.calls import Effect, FileChange, FileSeen, Image, Looked, ProcessId, ToolSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """Where a session works: `root` is absolute and resolved; `spool` is a folder for live output.

    What lies beneath `private` (absolute, resolved) is holdfast's own, and never written by a tool that edits files.
    """

    root: Path
    spool: Path
    private: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a run gave: `text` is what the model reads; `ok` False makes the call `failed` (a non-zero exit, say).

    `interrupted` True says the tool was stopped before it finished; the text then holds what there was. `seen` is the
    file whose content the model knows by this, `images` what it is shown beside the text.
    """

    text: str
    ok: bool = True
    interrupted: bool = False
    seen: FileSeen | None = None
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What a call left whose end nobody wrote down.

    `output` is what it gave, or `interrupted` with what is left of it; `seconds` how long it ran, 0 if unknown.
    """

    output: Output
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a running call is given.

    `stop` is set when the call should end soon: a tool that waits must watch it and then return what it has, with
    `interrupted=True`. `emit` takes live output (valid Unicode, any size) and never blocks. `began` is told of a
    process as soon as the call runs one, so that it can be found again.
    """

    call: str
    stop: asyncio.Event
    emit: Callable[[str], None]
    began: Callable[[ProcessId], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a call will do if it is allowed to.

    `title` is one line for a person ("edit src/app.py", "run: make test"); `detail` more of it (a diff, the whole
    command). `outside` names a path outside the workspace that it touches, else None; `host` one that it asks over the
    network, else "". `change` is set for file edits, `known_as` too if a link has other programs run the file by that
    name. `command` is set for shell commands, `spool` (a file name within the workspace's spool folder) where live
    output is kept. `run` may be called once.
    """

    effect: Effect
    title: str
    run: Callable[[Context], Awaitable[Output]] = field(repr=False)
    detail: str = ""
    outside: str | None = None
    change: FileChange | None = None
    known_as: str = ""
    spool: str | None = None
    command: str = ""
    host: str = ""


class Tool(Protocol):
    """One thing the model may ask for."""

    @property
    def schema(self) -> ToolSchema:
        """Return what the model is told: name, description, JSON schema of the arguments."""
        ...

    @property
    def effect(self) -> Effect:
        """Return the most this tool can do; a plan of it never does more. Calls of `read` tools run in parallel."""
        ...

    def plan(self, call: str, arguments: str) -> Plan:
        """Return what the call would do, having only looked.

        `call` is our id of the call, `arguments` the raw string the model wrote. Raises `ToolFailed`, in words the
        model can use, if the arguments do not fit the schema or the thing asked for cannot be.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """A file of instructions for the model: `seen` is the file when it was read, `text` what is shown of it."""

    seen: FileSeen
    text: str


class Toolbox(Protocol):
    """The tools of a session, and what can be learnt about calls whose outcome was lost."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name."""
        ...

    async def quiet(self, commands: Mapping[str, ProcessId | None]) -> bool:
        """Return whether every process of an earlier holder is known to be gone, having waited at most a second for it.

        `commands` are those without an outcome, by the name of their live output, some of whose processes are known.
        """
        ...

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:
        """Return what is to be said of processes that an earlier holder left alive, "" if there are none.

        Looks for those of `calls`, some of whose processes are known, and ends them within a second.
        """
        ...

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the instructions that hold in the workspace now, the person's own first; never raises."""
        ...

    def present(self, seen: FileSeen) -> FileSeen:
        """Return a file that was seen as it is now: `seen` itself if nothing tells of a change; never raises."""
        ...

    def look(self, change: FileChange) -> Looked:
        """Return what is at the path of an interrupted edit; never raises."""
        ...

    def traces(self, spool: str, since: float) -> Traces | None:
        """Return what a command that began at `since` (seconds since the epoch) left, None if nothing; never raises."""
        ...

    def forget(self, spool: str) -> None:
        """Remove what a command left: its call has its outcome."""
        ...

    def sweep(self, edits: Mapping[str, FileChange]) -> None:
        """Remove what calls left that nobody could clean up after; `edits` are file changes of theirs, by call id.

        No call may run, and each must have its outcome.
        """
        ...

    async def close(self) -> None:
        """End every process of the tools, within a second."""
        ...
