"""What Claude Code calls a tool and its arguments, so that hooks written for it read and change calls of holdfast.

Paths are absolute for a hook. What a hook gives back is read in both ways of naming. Pure.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import msgspec

from holdfast.agent.seam import PlannedCall
from holdfast.errors import ToolFailed
from holdfast.typed_data import decode_json

HookInput = dict[str, object]
"""Arguments as a model or a hook wrote them."""

CLAUDE_NAMES = {
    "bash": "Bash",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "apply_patch": "Edit",
    "grep": "Grep",
    "glob": "Glob",
    "fetch": "WebFetch",
    "search": "WebSearch",
    "todo": "TodoWrite",
    "task": "TaskOutput",
    "stop_task": "TaskStop",
    "ask_user": "AskUserQuestion",
    "present_plan": "ExitPlanMode",
    "skill": "Skill",
}
"""Claude Code's names of holdfast's tools. Tools of MCP servers have the same name in both."""

_FIELDS: dict[str, dict[str, str]] = {
    "bash": {"background": "run_in_background"},
    "read": {"path": "file_path"},
    "write": {"path": "file_path"},
    "edit": {"path": "file_path", "old": "old_string", "new": "new_string", "all": "replace_all"},
    "grep": {"ignore_case": "-i", "context": "-C", "limit": "head_limit"},
    "todo": {"items": "todos"},
}
_PATHS = frozenset({"read", "write", "edit", "grep", "glob"})
_TODO = {"open": "pending", "doing": "in_progress", "done": "completed"}
_MILLISECONDS = 1000


def claude_name(tool: str) -> str:
    """Return Claude Code's name of a tool."""
    return CLAUDE_NAMES.get(tool, tool)


def own_arguments(planned: PlannedCall) -> HookInput:
    """Return the arguments of a call by the names of its tool; none if they cannot be read."""
    from holdfast.tools.arguments.tolerant_reader import read_arguments
    from holdfast.tools.builtin.declarations import SCHEMAS

    schema = next((each for each in SCHEMAS if each.name == planned.tool), None)
    raw = planned.call.arguments
    try:
        raw = raw if schema is None else read_arguments(raw, schema).raw
        found = decode_json(raw or "{}", object)
    except (ToolFailed, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return cast("HookInput", found) if isinstance(found, dict) else {}


def claude_arguments(planned: PlannedCall, root: Path) -> HookInput:
    """Return the arguments of a call as Claude Code would have them; paths are below `root` unless absolute."""
    declared, tool = own_arguments(planned), planned.tool
    if tool == "apply_patch":
        paths = [str(root / each.path) for each in planned.plan.changes]
        return {"file_path": paths[0] if paths else "", "file_paths": paths, **declared}
    names = _FIELDS.get(tool, {})
    found = {names.get(name, name): value for name, value in declared.items()}
    if tool in _PATHS and isinstance(path := declared.get("path"), str):
        found[names.get("path", "path")] = str(root / path)
    if tool == "bash" and isinstance(seconds := declared.get("timeout"), int | float):
        found["timeout"] = seconds * _MILLISECONDS
    if tool == "edit" and "edits" in declared:
        found["edits"] = [
            {names.get(name, name): value for name, value in each.items()} for each in _objects(declared["edits"])
        ]
    if tool == "todo" and "items" in declared:
        found["todos"] = [
            {"content": each.get("text", ""), "activeForm": each.get("text", ""), "status": _TODO.get(state, state)}
            for each in _objects(declared["items"])
            for state in [str(each.get("state", "open"))]
        ]
    return found


def changed_arguments(planned: PlannedCall, updated: HookInput, root: Path) -> str:
    """Return the arguments that a hook wants, as JSON for the tool; "" if they are those that the call has."""
    if updated == claude_arguments(planned, root):
        return ""
    tool = planned.tool
    back = {theirs: ours for ours, theirs in _FIELDS.get(tool, {}).items()}
    found = {back.get(name, name): value for name, value in updated.items()}
    declared = own_arguments(planned)
    if tool in _PATHS and found.get("path") == str(root / str(declared.get("path", "."))) and "path" in declared:
        found["path"] = declared["path"]
    if tool == "apply_patch":
        found = {"input": found.get("input", "")}
    if tool == "bash":
        if isinstance(milliseconds := found.get("timeout"), int | float):
            found["timeout"] = milliseconds / _MILLISECONDS
        found.pop("description", None)
    if tool == "edit" and "edits" in found:
        found["edits"] = [
            {back.get(name, name): value for name, value in each.items()} for each in _objects(found["edits"])
        ]
    if tool == "todo" and "items" in found:
        states = {theirs: ours for ours, theirs in _TODO.items()}
        found["items"] = [
            {"text": each.get("content", ""), "state": states.get(str(each.get("status")), "open")}
            for each in _objects(found["items"])
        ]
    if found == declared:
        return ""
    return msgspec.json.encode(found).decode()


def tool_response(tool: str, outcome: str, text: str) -> HookInput:
    """Return the result of a call as a hook of Claude Code reads it."""
    if tool == "bash":
        return {"stdout": text, "stderr": "", "interrupted": outcome == "interrupted", "isImage": False}
    return {"content": text, "success": outcome == "ok"}


def _objects(values: object) -> list[HookInput]:
    listed = cast("list[object]", values) if isinstance(values, list) else []
    return [cast("HookInput", each) for each in listed if isinstance(each, dict)]
