"""Calls that mean another tool than they name: an editor with commands, and a patch in the shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import cast

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Effect, ToolSchema
from holdfast.tools.tool import Plan, Tool

EDITORS = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "text_editor", "editor"})
"""Folded names of the editor tool, whose argument `command` selects what it does."""

_COMMANDS: Mapping[str, str] = {
    "view": "read",
    "open": "read",
    "create": "write",
    "write": "write",
    "str_replace": "edit",
    "replace": "edit",
}
_INSTEAD: Mapping[str, str] = {
    "insert": (
        "Call edit with the path, as 'old' the line behind which the text belongs (with a line around it, if it occurs "
        "more than once), and as 'new' the same with the text added"
    ),
    "undo_edit": "Call edit with 'old' and 'new' exchanged",
}

_HERE = re.compile(r"\s*apply_?patch\s*<<-?\s*(['\"]?)(\w+)\1[ \t]*\n(.*)\n[ \t]*\2\s*", re.DOTALL)


class EditorTool:
    """The editor tool of Anthropic's API: each of its commands calls one of `tools`."""

    effect: Effect = "write"

    def __init__(self, tools: Mapping[str, Tool], called: str) -> None:
        self._tools = tools
        self._called_as = called

    @property
    def schema(self) -> ToolSchema:
        """Return the schema of the tool that most of its commands mean."""
        return self._tools["read"].schema

    def plan(self, call: str, arguments: str) -> Plan:
        """Return the plan of the tool that the command means; raises `ToolFailed` with advice if there is none."""
        command, rest = _command(arguments)
        meant = _COMMANDS.get(command, "")
        if meant not in self._tools:
            raise ToolFailed(self._refusal(command, meant))
        if meant == "edit" and "old_str" in rest:
            rest.setdefault("new_str", "")  # without it, the text is deleted
        plan = self._tools[meant].plan(call, msgspec.json.encode(rest).decode())
        return msgspec.structs.replace(plan, tool=plan.tool or meant)

    def _refusal(self, command: str, meant: str) -> str:
        subject = (
            f"Command {command!r} of {self._called_as!r}" if command else f"Tool {self._called_as!r} without a command"
        )
        if meant or "edit" not in self._tools:
            return f"{subject} does not exist here. Nothing was done. Change files with apply_patch."
        if command in _INSTEAD:
            return f"{subject} does not exist here. Nothing was done. {_INSTEAD[command]}."
        return (
            f"{subject} does not exist here (expected view, create or str_replace). Nothing was done. "
            "Call read(path, offset, limit), write(path, content) or edit(path, old, new)."
        )


def _command(arguments: str) -> tuple[str, dict[str, object]]:
    try:
        value = cast("object", msgspec.json.decode(arguments))
    except (msgspec.DecodeError, RecursionError):
        return "", {}
    if not isinstance(value, dict):
        return "", {}
    rest = cast("dict[str, object]", value)
    command = rest.pop("command", "")
    return (command.strip() if isinstance(command, str) else ""), rest


def patch_in_shell(arguments: str) -> str:
    """Return the patch if a call of `bash` only passes a patch to `apply_patch`, else ""."""
    if "patch" not in arguments:
        return ""
    _, rest = "", cast("object", msgspec.json.decode(arguments))
    fields = cast("dict[str, object]", rest) if isinstance(rest, dict) else {}
    command = fields.get("command")
    if not isinstance(command, str) or fields.get("cwd") or fields.get("background"):
        return ""
    if (here := _HERE.fullmatch(command)) is not None:
        return here[3]
    if re.match(r"\s*apply_?patch\s+['\"]", command) is None:
        return ""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    return words[1] if len(words) == 2 else ""  # noqa: PLR2004 - the program and the patch
