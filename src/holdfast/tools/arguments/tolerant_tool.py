"""The tools as models call them: names and arguments they were trained on are accepted, and the result says so."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import cast

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, ToolSchema
from holdfast.tools.arguments.name_aliases import FIELD_DEFAULTS, NAMESPACES, REPLACEMENT_HINTS, TOOL_NAMES, folded_name
from holdfast.tools.arguments.other_tool import EDITORS, EditorTool, patch_in_shell
from holdfast.tools.arguments.tolerant_reader import ArgumentReading, read_arguments
from holdfast.tools.tool import Plan, TellingFailure, Tool, ToolContext, ToolOutput
from holdfast.typed_data import decode_json


class TolerantTool:
    """A tool whose arguments are read tolerantly. The last line of its result says how they were read."""

    def __init__(self, tool: Tool, *, called: str = "", patches: Tool | None = None) -> None:
        """Wrap `tool`; `called` is the other name that the model called it by, if any.

        `patches` is the tool for patches that are written as a command.
        """
        self._tool = tool
        self._called_as = called
        self._patches = patches

    @property
    def schema(self) -> ToolSchema:
        """Return the declaration of the tool."""
        return self._tool.schema

    @property
    def effect(self) -> Effect:
        """Return the strongest effect of the tool."""
        return self._tool.effect

    def reading(self, arguments: str) -> ArgumentReading:
        """Return the arguments as they are read; raises `ToolFailed` as `read_arguments` does."""
        return read_arguments(arguments, self.schema, defaults=FIELD_DEFAULTS.get(_base_name(self._called_as), {}))

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the tool's plan for the arguments as they were read; raises `ToolFailed` as the tool does."""
        reading = self.reading(arguments)
        name_note = f"[Tool {self._called_as!r} is {self.schema.name!r} here.]" if self._called_as else ""
        tool, raw = self._tool, reading.raw
        if self._patches is not None and (patch := patch_in_shell(raw)):
            tool, raw = self._patches, msgspec.json.encode({"input": patch}).decode()
            name_note = f"[The patch in a shell command was given to the tool {tool.schema.name!r}: call that.]"
        note = "\n".join(filter(None, (name_note, reading.note)))
        try:
            plan = tool.plan(call, raw)
        except ToolFailed as failed:
            raise _with_note(failed, note) from failed
        if tool is not self._tool:
            plan = msgspec.structs.replace(plan, tool=plan.tool or tool.schema.name)
        if not note:
            return plan
        run_tool = plan.run

        async def run(context: ToolContext) -> ToolOutput:
            try:
                output = await run_tool(context)
            except ToolFailed as failed:
                raise _with_note(failed, note) from failed
            return msgspec.structs.replace(output, text=f"{output.text}\n{note}" if output.text else note)

        return msgspec.structs.replace(plan, run=run)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def accepts_arguments(tool: Tool, arguments: str) -> bool:
    """Return whether a JSON object has what the tool requires, with the types it declares, as the tool reads it."""
    try:
        raw = tool.reading(arguments).raw if isinstance(tool, TolerantTool) else arguments
        value = decode_json(raw, dict[str, object])
    except (ToolFailed, msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    required = tool.schema.parameters.get("required", [])
    typed = (
        isinstance(argument, _TYPES.get(declared_type(tool.schema, name), (object,)))
        for name, argument in value.items()
    )
    return (not isinstance(required, list) or all(name in value for name in cast("list[object]", required))) and all(
        typed
    )


def declared_type(schema: ToolSchema, field: str) -> str:
    """Return the type that a schema, of whichever server, gives a field; "" if it gives none, or several."""
    fields = schema.parameters.get("properties")
    declared = cast("dict[str, object]", fields).get(field) if isinstance(fields, dict) else None
    match declared:
        case {"type": str(kind)}:
            return kind
        case _:
            return ""


def _with_note(failed: ToolFailed, note: str) -> ToolFailed:
    text = "\n".join(filter(None, (str(failed), note)))
    return failed.with_text(text) if isinstance(failed, TellingFailure) else ToolFailed(text)


class ToolNames(Mapping[str, Tool]):
    """Tools by name; a lookup also finds them by the names that models were trained on.

    Iteration yields holdfast's names only. `exact` are tools of MCP servers, whose arguments are passed on unchanged.
    """

    def __init__(self, tools: Mapping[str, Tool], exact: Mapping[str, Tool] | None = None) -> None:
        self._tools = tools
        self._exact = exact or {}

    def __getitem__(self, name: str) -> Tool:
        if (other := self._exact.get(name)) is not None:
            return other
        if (tool := self._tools.get(name)) is not None:
            return self._tolerant(tool)
        if _base_name(name) in EDITORS and "read" in self._tools:
            return EditorTool({each: TolerantTool(tool, called=name) for each, tool in self._tools.items()}, name)
        return self._tolerant(self._tools[canonical_name(name)], called=name)

    def _tolerant(self, tool: Tool, *, called: str = "") -> Tool:
        patches = self._tools.get("apply_patch") if tool.schema.name == "bash" else None
        return TolerantTool(tool, called=called, patches=patches)

    def __iter__(self) -> Iterator[str]:
        yield from self._tools
        yield from self._exact

    def __len__(self) -> int:
        return len(self._tools) + len(self._exact)


def canonical_name(name: str) -> str:
    """Return holdfast's name of the tool that the model means by `name`, else the folded name."""
    base = _base_name(name)
    return TOOL_NAMES.get(base, base)


def _base_name(name: str) -> str:
    """Return a name folded, without the namespace before it."""
    space, dot, rest = name.partition(".")
    return folded_name(rest if dot and folded_name(space) in NAMESPACES else name)


def missing_tool(name: str, tools: Iterable[str]) -> str:
    """Return why a call of a tool that does not exist was not carried out, and what to do, for the model."""
    has = sorted(tools)
    return f"Tool {name!r} does not exist (expected one of {', '.join(has)}). Nothing was done.{_instead(name, has)}"


def _instead(name: str, tools: Container[str]) -> str:
    """Return a sentence on what to call instead of a tool that does not exist, "" if unknown."""
    meant = canonical_name(name)
    for this, other in (("edit", "apply_patch"), ("apply_patch", "edit")):
        if meant == this and other in tools:
            return f" Change files with {other}."
    return f" Instead of it: {hint}." if (hint := REPLACEMENT_HINTS.get(meant, "")) else ""
