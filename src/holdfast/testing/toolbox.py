"""Tools made of plain functions, and a toolbox of them: for turns whose calls do exactly what a test says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from holdfast.calls import Effect, FileChange, FileSeen, Looked, ProcessId, ToolSchema
from holdfast.errors import ToolFailed
from holdfast.tools.tool import Context, Instruction, Output, Plan, Tool, Traces

Run = Callable[[dict[str, object], Context], Awaitable[Output]]


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool whose run is `run`; its arguments are any JSON object."""

    name: str
    effect: Effect
    run: Run = field(repr=False)
    change: FileChange | None = None
    spool: str | None = None

    @property
    def schema(self) -> ToolSchema:
        """Return a schema that accepts any object."""
        return ToolSchema(name=self.name, description=f"Test tool {self.name}.", parameters={"type": "object"})

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return a plan that runs the function; raises `ToolFailed` if the arguments are no JSON object."""
        try:
            given = msgspec.json.decode(arguments or "{}", type=dict[str, object])
        except msgspec.DecodeError as error:
            raise ToolFailed(
                f"Arguments of {self.name!r} are not a JSON object: {error}. Nothing was done; call it again."
            ) from error
        run = self.run

        async def act(context: Context) -> Output:
            return await run(given, context)

        return Plan(effect=self.effect, title=self.name, run=act, change=self.change, spool=self.spool)


@dataclass(slots=True)
class FunctionToolbox:
    """A toolbox of given tools; what a look finds and what a command printed is given too, by path and by spool.

    `files` are those that are not as they were seen, `held` the instructions that hold.
    """

    given: Sequence[Tool]
    looked: Mapping[str, Looked] = field(default_factory=dict[str, Looked])
    spooled: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, FileSeen] = field(default_factory=dict[str, FileSeen])
    held: tuple[Instruction, ...] = ()
    closed: bool = False

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Return the tools by name."""
        return {tool.schema.name: tool for tool in self.given}

    async def quiet(self, commands: Mapping[str, ProcessId | None]) -> bool:  # noqa: ARG002 - the Toolbox protocol's
        """Return True: no process of an earlier holder is ever left."""
        return True

    async def reap(self, calls: Mapping[str, ProcessId | None]) -> str:  # noqa: ARG002 - the Toolbox protocol's
        """Return "": no process of an earlier holder is ever left."""
        return ""

    def instructions(self) -> tuple[Instruction, ...]:
        """Return what was given."""
        return self.held

    def present(self, seen: FileSeen) -> FileSeen:
        """Return what was given for the path, the file as it was seen if nothing was."""
        return self.files.get(seen.path, seen)

    def look(self, change: FileChange) -> Looked:
        """Return what was given for the path, "unreadable" if nothing was."""
        return self.looked.get(change.path, "unreadable")

    def traces(self, spool: str, since: float) -> Traces | None:  # noqa: ARG002 - the Toolbox protocol's
        """Return what was given for the spool, as the output of an interrupted call, None if nothing was."""
        text = self.spooled.get(spool)
        return None if text is None else Traces(output=Output(text=text, interrupted=True))

    def forget(self, spool: str) -> None:
        """Do nothing: a function leaves nothing behind."""

    def sweep(self, edits: Mapping[str, FileChange]) -> None:
        """Do nothing: a function leaves nothing behind."""

    async def close(self) -> None:
        """Remember that it was closed."""
        self.closed = True
