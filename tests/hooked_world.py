"""Hooks as the public guides have them, rebuilt by their shape: small programs that read JSON on stdin and answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BLOCK_RM = """
import json, sys
command = json.load(sys.stdin)["tool_input"].get("command", "")
if "rm -rf" in command:
    print("rm -rf is not allowed here. Move it to the trash.", file=sys.stderr)
    sys.exit(2)
"""
FORMAT = """
import json, pathlib, sys
path = pathlib.Path(json.load(sys.stdin)["tool_input"]["file_path"])
path.write_text(path.read_text().replace("x=1", "x = 1"))
"""
SESSION_CONTEXT = """
import json, sys
told = json.load(sys.stdin)
print(f"The session began by {told['source']}. The branch is main.")
"""
PROMPT_CONTEXT = """
import json, sys
told = json.load(sys.stdin)
if "forbidden" in told["prompt"]:
    print(json.dumps({"decision": "block", "reason": "The prompt has a forbidden word."}))
else:
    context = f"Asked in mode {told['permission_mode']}."
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": context}}))
"""
UNTIL_TESTS_PASS = """
import json, os, sys
told = json.load(sys.stdin)
if not os.path.exists(os.path.join(os.environ["CLAUDE_PROJECT_DIR"], "passed")):
    print(json.dumps({"decision": "block", "reason": "The tests do not pass yet. Go on."}))
"""
DENY_PRIVATE = """
import json, sys
told = json.load(sys.stdin)
if told["tool_input"].get("file_path", "").endswith("private.txt"):
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
    specific["permissionDecisionReason"] = "It is private."
    print(json.dumps({"hookSpecificOutput": specific}))
"""
CHANGE_INPUT = """
import json, sys
told = json.load(sys.stdin)
command = told["tool_input"].get("command", "")
if "plain" in command:
    updated = {**told["tool_input"], "command": command.replace("plain", "changed")}
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": updated}
    print(json.dumps({"hookSpecificOutput": specific}))
"""
CHANGE_OUTPUT = """
import json, sys
json.load(sys.stdin)
specific = {"hookEventName": "PostToolUse", "updatedToolOutput": "3 matches, hidden"}
print(json.dumps({"hookSpecificOutput": specific}))
"""
ALLOW = """
import json, sys
json.load(sys.stdin)
specific = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
print(json.dumps({"hookSpecificOutput": specific}))
"""
END = """
import json, sys
told = json.load(sys.stdin)
if "enough" in json.dumps(told):
    print(json.dumps({"continue": False, "stopReason": "That is enough."}))
"""

PROGRAMS = {
    "block_rm": BLOCK_RM,
    "format": FORMAT,
    "session_context": SESSION_CONTEXT,
    "prompt_context": PROMPT_CONTEXT,
    "until_tests_pass": UNTIL_TESTS_PASS,
    "deny_private": DENY_PRIVATE,
    "change_input": CHANGE_INPUT,
    "change_output": CHANGE_OUTPUT,
    "allow": ALLOW,
    "end": END,
}
HOOKS = {
    "SessionStart": [("", "session_context")],
    "UserPromptSubmit": [("", "prompt_context")],
    "PreToolUse": [("Bash", "block_rm"), ("Read|Edit|Write", "deny_private"), ("Bash", "change_input")],
    "PermissionRequest": [("*", "allow")],
    "PostToolUse": [("Edit|MultiEdit|Write", "format"), ("^Gre.$", "change_output"), ("Bash", "end")],
    "Stop": [("", "until_tests_pass")],
}
"""The hooks of the guides, by event: what they match, and their program."""


def write_program(folder: Path, name: str, text: str) -> str:
    """Write a hook's program, and return the command that runs it."""
    path = folder / f"{name}.py"
    path.write_text(text)
    return f'{sys.executable} "{path}"'


def write_settings(path: Path, hooks: dict[str, list[dict[str, Any]]], **more: object) -> None:
    """Write settings in the form of Claude Code, with these groups of hooks by event."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": hooks, **more}, indent=1))


def group(command: str, matcher: str = "", **more: object) -> dict[str, Any]:
    """Return a group with one hook."""
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}


def guide_settings(home: Path) -> None:
    """Write the hooks of the guides as the user's own settings of Claude Code."""
    programs = home / ".claude" / "hooks"
    programs.mkdir(parents=True, exist_ok=True)
    commands = {name: write_program(programs, name, text) for name, text in PROGRAMS.items()}
    hooks = {event: [group(commands[name], matcher) for matcher, name in rows] for event, rows in HOOKS.items()}
    write_settings(home / ".claude" / "settings.json", hooks)
