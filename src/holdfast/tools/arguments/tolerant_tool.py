"""The tools as models call them: names and arguments they were trained on are accepted, and the result says so."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, ToolSchema
from holdfast.tools.arguments.name_aliases import GIVEN, MEANT, NAMESPACES, TOOL_NAMES, folded_name
from holdfast.tools.arguments.other_tool import EDITORS, EditorTool, patch_in_shell
from holdfast.tools.arguments.tolerant_reader import read_arguments
from holdfast.tools.tool import Plan, Tool, ToolContext, ToolOutput


class TolerantTool:
    """A tool whose arguments are read tolerantly. What was done to them is the last line of its result."""

    def __init__(self, tool: Tool, *, called: str = "", patches: Tool | None = None) -> None:
        """Wrap `tool`; `called` is the other name that the model called it by, if any.

        `patches` is the tool for patches that are written as a command.
        """
        self._tool = tool
        self._called = called
        self._patches = patches

    @property
    def schema(self) -> ToolSchema:
        """Return the declaration of the tool."""
        return self._tool.schema

    @property
    def effect(self) -> Effect:
        """Return the strongest effect of the tool."""
        return self._tool.effect

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the tool's plan for the arguments as they were read; raises `ToolFailed` as the tool does."""
        read = read_arguments(arguments, self.schema, given=GIVEN.get(_own_name(self._called), {}))
        also = f"[Tool {self._called!r} is {self.schema.name!r} here.]" if self._called else ""
        tool, raw = self._tool, read.raw
        if self._patches is not None and (patch := patch_in_shell(raw)):
            tool, raw = self._patches, msgspec.json.encode({"input": patch}).decode()
            also = f"[The patch in a shell command was given to the tool {tool.schema.name!r}: call that.]"
        note = "\n".join(filter(None, (also, read.note)))
        try:
            plan = tool.plan(call, raw)
        except ToolFailed as failed:
            raise _noted(failed, note) from failed
        if tool is not self._tool:
            plan = msgspec.structs.replace(plan, tool=plan.tool or tool.schema.name)
        if not note:
            return plan
        act = plan.run

        async def run(context: ToolContext) -> ToolOutput:
            try:
                output = await act(context)
            except ToolFailed as failed:
                raise _noted(failed, note) from failed
            return msgspec.structs.replace(output, text=f"{output.text}\n{note}" if output.text else note)

        return msgspec.structs.replace(plan, run=run)


def _noted(failed: ToolFailed, note: str) -> ToolFailed:
    return ToolFailed("\n".join(filter(None, (str(failed), note))))


class ToolNames(Mapping[str, Tool]):
    """Tools by name; a lookup also finds them by the names that models were trained on. Only their own are listed.

    `exact` are tools of others, whose arguments are passed on as they are.
    """

    def __init__(self, tools: Mapping[str, Tool], exact: Mapping[str, Tool] | None = None) -> None:
        self._tools = tools
        self._exact = exact or {}

    def __getitem__(self, name: str) -> Tool:
        if (other := self._exact.get(name)) is not None:
            return other
        if (own := self._tools.get(name)) is not None:
            return self._tolerant(own)
        if _own_name(name) in EDITORS and "read" in self._tools:
            return EditorTool({own: TolerantTool(tool, called=name) for own, tool in self._tools.items()}, name)
        return self._tolerant(self._tools[trained(name)], called=name)

    def _tolerant(self, tool: Tool, *, called: str = "") -> Tool:
        patches = self._tools.get("apply_patch") if tool.schema.name == "bash" else None
        return TolerantTool(tool, called=called, patches=patches)

    def __iter__(self) -> Iterator[str]:
        yield from self._tools
        yield from self._exact

    def __len__(self) -> int:
        return len(self._tools) + len(self._exact)


def trained(name: str) -> str:
    """Return the tool that the model means by `name`, or the name as it would be written here."""
    own = _own_name(name)
    return TOOL_NAMES.get(own, own)


def _own_name(name: str) -> str:
    """Return a name folded, without the namespace before it."""
    space, dot, rest = name.partition(".")
    return folded_name(rest if dot and folded_name(space) in NAMESPACES else name)


def missing_tool(name: str, tools: Iterable[str]) -> str:
    """Return why a call of a tool that does not exist was not carried out, and what to do, for the model."""
    has = sorted(tools)
    return f"Tool {name!r} does not exist (expected one of {', '.join(has)}). Nothing was done.{_instead(name, has)}"


def _instead(name: str, tools: Container[str]) -> str:
    """Return what to call in place of a tool that does not exist, as a sentence, "" if that is not known."""
    meant = trained(name)
    for this, other in (("edit", "apply_patch"), ("apply_patch", "edit")):
        if meant == this and other in tools:
            return f" Change files with {other}."
    return f" Instead of it: {said}." if (said := MEANT.get(meant, "")) else ""
