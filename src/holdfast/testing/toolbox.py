"""Tools made of plain functions, and a toolbox of them, for turns whose calls do exactly what a test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, FileChange, FileCheck, FileSeen, ProcessId, ToolSchema
from holdfast.tools.tool import Instruction, Plan, Tool, ToolContext, ToolOutput, Traces
from holdfast.typed_data import decode_json

_Run = Callable[[dict[str, object], ToolContext], Awaitable[ToolOutput]]


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool that calls `run`, in the `background` as a task; its arguments are any JSON object.

    The model reads its `description` and its `parameters`, a JSON schema of type object.
    """

    name: str
    effect: Effect
    run: _Run = field(repr=False)
    change: FileChange | None = None
    spool: str | None = None
    background: bool = False
    description: str = ""
    parameters: Mapping[str, object] = field(default_factory=lambda: {"type": "object"}, hash=False)

    @property
    def schema(self) -> ToolSchema:
        """Return the declaration; without `parameters`, it accepts any object."""
        description = self.description or f"Test tool {self.name}."
        return ToolSchema(name=self.name, description=description, parameters=dict(self.parameters))

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return a plan that runs the function. Raise `ToolFailed` if the arguments are not a JSON object."""
        try:
            values = decode_json(arguments or "{}", dict[str, object])
        except msgspec.DecodeError as error:
            raise ToolFailed(
                f"Arguments of {self.name!r} are not a JSON object: {error}. Nothing was done. Call it again."
            ) from error
        run = self.run

        async def act(context: ToolContext) -> ToolOutput:
            return await run(values, context)

        return Plan(
            effect=self.effect,
            title=self.name,
            run=act,
            changes=() if self.change is None else (self.change,),
            spool=self.spool,
            background=self.background,
        )


@dataclass(slots=True)
class FunctionToolbox:
    """A toolbox with fixed tools, fixed results of file checks (by path) and fixed traces (by spool).

    `files` are those that changed since the model saw them, `active_instructions` the instructions that apply,
    `servers` the reports on MCP servers.
    """

    tool_list: Sequence[Tool]
    file_checks: Mapping[str, FileCheck] = field(default_factory=dict[str, FileCheck])
    spooled: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, FileSeen] = field(default_factory=dict[str, FileSeen])
    active_instructions: tuple[Instruction, ...] = ()
    servers: Mapping[str, str] = field(default_factory=dict[str, str])
    closed: bool = False

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name."""
        return {tool.schema.name: tool for tool in self.tool_list}

    async def wait_for_exit(self, commands: Mapping[str, ProcessId | None]) -> bool:  # noqa: ARG002 - the Toolbox protocol's
        """Return True: no process of an earlier agent is ever left."""
        return True

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:  # noqa: ARG002 - the Toolbox protocol's
        """Return "": no process of an earlier agent is ever left."""
        return ""

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return what is declared: functions never change."""
        return declared

    def server_reports(self) -> Mapping[str, str]:
        """Return the reports given for servers."""
        return self.servers

    def instructions(self) -> tuple[Instruction, ...]:
        """Return the active instructions."""
        return self.active_instructions

    def current_snapshot(self, snapshot: FileSeen) -> FileSeen:
        """Return the file given for the path, else the file unchanged."""
        return self.files.get(snapshot.path, snapshot)

    def check_change(self, change: FileChange) -> FileCheck:
        """Return the result given for the path, else "unreadable"."""
        return self.file_checks.get(change.path, "unreadable")

    def traces(self, spool: str, since: float) -> Traces | None:  # noqa: ARG002 - the Toolbox protocol's
        """Return the traces given for the spool of an interrupted call, None if there are none."""
        text = self.spooled.get(spool)
        return None if text is None else Traces(output=ToolOutput(text=text, interrupted=True))

    def forget(self, spool: str) -> None:
        """Do nothing: a function leaves nothing behind."""

    def sweep(self, edits: Mapping[str, Sequence[FileChange]]) -> None:
        """Do nothing: a function leaves nothing behind."""

    async def close(self) -> None:
        """Note that it was closed."""
        self.closed = True
