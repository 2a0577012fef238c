"""What the families of models write for a tool of another name and other fields, and the slips they make with any."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import cast

Object = dict[str, object]

PATCH = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"

MEANT: Mapping[str, Object] = {
    "read": {"path": "a.py", "offset": 3, "limit": 20},
    "write": {"path": "a.py", "content": "x = 1\n"},
    "edit": {"path": "a.py", "old": "x = 1", "new": "x = 2", "all": True},
    "apply_patch": {"input": PATCH},
    "bash": {"command": "make test", "timeout": 120},
    "task": {"id": "b1"},
    "stop_task": {"id": "b1"},
    "grep": {"pattern": "def f", "path": "src", "glob": "*.py", "ignore_case": True, "limit": 50},
    "glob": {"pattern": "**/*.py", "path": "src"},
    "fetch": {"url": "https://example.org/a"},
    "todo": {"items": [{"text": "look", "state": "done"}, {"text": "change it", "state": "doing"}]},
}
"""One call of each tool as its schema has it."""

NATIVE: Mapping[str, Mapping[str, tuple[str, Object]]] = {
    "claude": {
        "apply_patch": ("apply_patch", {"patch": PATCH}),
        "task": ("BashOutput", {"bash_id": "b1"}),
        "stop_task": ("KillShell", {"shell_id": "b1"}),
        "read": ("Read", {"file_path": "a.py", "offset": 3, "limit": 20}),
        "write": ("Write", {"file_path": "a.py", "content": "x = 1\n"}),
        "edit": ("Edit", {"file_path": "a.py", "old_string": "x = 1", "new_string": "x = 2", "replace_all": True}),
        "bash": ("Bash", {"command": "make test", "timeout": 120000, "description": "Run the tests"}),
        "grep": (
            "Grep",
            {"pattern": "def f", "path": "src", "glob": "*.py", "-i": True, "head_limit": 50, "output_mode": "content"},
        ),
        "glob": ("Glob", {"pattern": "**/*.py", "path": "src"}),
        "fetch": ("WebFetch", {"url": "https://example.org/a", "prompt": "What does it say?"}),
        "todo": (
            "TodoWrite",
            {
                "todos": [
                    {"content": "look", "status": "completed", "activeForm": "Looking"},
                    {"content": "change it", "status": "in_progress", "activeForm": "Changing it"},
                ]
            },
        ),
    },
    "gpt": {
        "apply_patch": ("apply_patch", {"input": PATCH}),
        "task": ("task", {"session_id": "b1"}),
        "stop_task": ("stop_task", {"session_id": "b1"}),
        "read": ("read_file", {"file_path": "a.py", "offset": 3, "limit": 20}),
        "write": ("write_file", {"path": "a.py", "text": "x = 1\n"}),
        "edit": ("str_replace", {"path": "a.py", "old_str": "x = 1", "new_str": "x = 2", "replace_all": True}),
        "bash": ("shell", {"command": ["bash", "-lc", "make test"], "timeout_ms": 120000, "justification": "tests"}),
        "grep": (
            "grep_files",
            {"pattern": "def f", "path": "src", "include": "*.py", "case_sensitive": False, "limit": 50},
        ),
        "glob": ("glob_files", {"glob": "**/*.py", "root": "src"}),
        "fetch": ("fetch_url", {"uri": "https://example.org/a"}),
        "todo": (
            "update_plan",
            {
                "explanation": "on the way",
                "plan": [{"step": "look", "status": "completed"}, {"step": "change it", "status": "in_progress"}],
            },
        ),
    },
    "gemini": {
        "apply_patch": ("applyPatch", {"patch_text": PATCH}),
        "task": ("task_output", {"task_id": "b1"}),
        "stop_task": ("task_stop", {"task_id": "b1"}),
        "read": ("read_file", {"absolute_path": "a.py", "start_line": 3, "end_line": 22}),
        "write": ("write_file", {"file_path": "a.py", "content": "x = 1\n"}),
        "edit": (
            "replace",
            {
                "file_path": "a.py",
                "instruction": "set it",
                "old_string": "x = 1",
                "new_string": "x = 2",
                "allow_multiple": True,
            },
        ),
        "bash": ("run_shell_command", {"command": "make test", "description": "tests", "timeout": 120}),
        "grep": (
            "search_file_content",
            {"pattern": "def f", "dir_path": "src", "include": "*.py", "case_sensitive": False, "max_matches": 50},
        ),
        "glob": ("glob", {"pattern": "**/*.py", "dir_path": "src", "respect_git_ignore": True}),
        "fetch": ("web_fetch", {"url": "https://example.org/a", "prompt": "read it"}),
        "todo": (
            "write_todos",
            {
                "todos": [
                    {"description": "look", "status": "completed"},
                    {"description": "change it", "status": "in_progress"},
                ]
            },
        ),
    },
    "qwen, glm, kimi": {
        "apply_patch": ("patch", {"patchText": PATCH}),
        "task": ("TaskOutput", {"taskId": "b1"}),
        "stop_task": ("TaskStop", {"taskId": "b1"}),
        "read": ("ReadFile", {"path": "a.py", "line_offset": 3, "n_lines": 20}),
        "write": ("WriteFile", {"path": "a.py", "content": "x = 1\n", "mode": "overwrite"}),
        "edit": ("edit_file", {"filePath": "a.py", "oldString": "x = 1", "newString": "x = 2", "replaceAll": True}),
        "bash": ("Shell", {"command": "make test", "timeout": 120}),
        "grep": (
            "Grep",
            {"pattern": "def f", "path": "src", "glob": "*.py", "-i": True, "-n": True, "head_limit": 50},
        ),
        "glob": ("Glob", {"pattern": "**/*.py", "directory": "src", "include_dirs": False}),
        "fetch": ("FetchURL", {"url": "https://example.org/a"}),
        "todo": (
            "SetTodoList",
            {"todos": [{"title": "look", "status": "Done"}, {"title": "change it", "status": "In Progress"}]},
        ),
    },
    "deepseek, llama": {
        "apply_patch": ("ApplyPatch", {"diff": PATCH}),
        "task": ("bash_output", {"process_id": "b1"}),
        "stop_task": ("kill_shell", {"process_id": "b1"}),
        "read": ("open_file", {"filename": "a.py", "start": 3, "lines": 20}),
        "write": ("create_file", {"filename": "a.py", "contents": "x = 1\n"}),
        "edit": ("search_replace", {"file": "a.py", "search": "x = 1", "replace": "x = 2", "global": True}),
        "bash": ("execute_command", {"cmd": "make test", "timeout_seconds": 120}),
        "grep": (
            "grep_search",
            {"query": "def f", "directory": "src", "file_pattern": "*.py", "case_insensitive": True, "max_results": 50},
        ),
        "glob": ("find_files", {"query": "**/*.py", "folder": "src"}),
        "fetch": ("webfetch", {"link": "https://example.org/a"}),
        "todo": (
            "todo",
            {"tasks": [{"task": "look", "status": "complete"}, {"task": "change it", "status": "active"}]},
        ),
    },
}
"""What each family calls the tools, and how it writes the same calls."""


def _as_text(value: object) -> object:
    """Return numbers, booleans and lists of objects as the text that weak models make of them."""
    match value:
        case bool():
            return "true" if value else "False"
        case int():
            return str(value)
        case list():
            return json.dumps(cast("object", value))
        case _:
            return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _texts(arguments: Object) -> str:
    return json.dumps({name: _as_text(value) for name, value in arguments.items()})


SLIPS: Mapping[str, Callable[[Object], str]] = {
    "its own names": json.dumps,
    "camel case": lambda a: json.dumps({_camel(name): value for name, value in a.items()}),
    "hyphens": lambda a: json.dumps({name.replace("_", "-"): value for name, value in a.items()}),
    "a field that no tool has": lambda a: json.dumps({**a, "verbose_output_style": "full"}),
    "a reason beside them": lambda a: json.dumps({"reasoning": "because", **a}),
    "numbers, booleans and lists as text": _texts,
    "all of it as text": lambda a: json.dumps(json.dumps(a)),
    "wrapped": lambda a: json.dumps({"arguments": a}),
    "wrapped as text": lambda a: json.dumps({"parameters": json.dumps(a)}),
    "fenced": lambda a: f"```json\n{json.dumps(a)}\n```",
    "line ends that are not escaped": lambda a: json.dumps(a, indent=1).replace("\\n", "\n"),
    "null for what is not given": lambda a: json.dumps({**a, "env": None, "cwd": None, "offset": a.get("offset")}),
}
"""How the ten commonest slips, and two more, write the arguments that were meant."""
