"""Gates: no other hook takes the place of one, a condition misses nothing, and what cannot be read is never a yes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.hooks.definition import Hook, claude_hooks
from hook_rig import hook_rig
from process_leaks import linux_only

pytestmark = linux_only

DENY = "echo 'Not here.' >&2; exit 2"


def settings(*groups: object, event: str = "PreToolUse", source: str = "settings.json") -> tuple[Hook, ...]:
    """Return the hooks of these groups."""
    return claude_hooks(json.dumps({"hooks": {event: groups}}).encode(), source=source).hooks


def bash(*entries: dict[str, object], source: str = "settings.json") -> tuple[Hook, ...]:
    """Return the `PreToolUse` hooks of these entries for commands."""
    return settings({"matcher": "Bash", "hooks": [{"type": "command", **each} for each in entries]}, source=source)


async def test_hooks_that_differ_in_their_condition_are_all_gates(tmp_path: Path) -> None:
    hooks = bash({"command": DENY, "if": "Bash(rm *)"}, {"command": DENY, "if": "Bash(git push *)"})
    async with hook_rig(tmp_path, *hooks) as rig:
        await rig.bash("touch kept", "rm kept", "git push origin")
        assert rig.outcomes == ["ok", "denied", "denied"]
        assert (rig.folder / "kept").exists()


LESS: dict[str, dict[str, object]] = {
    "not waited for": {"async": True},
    "short": {"timeout": 0.01},
    "narrow": {"if": "Bash(git *)"},
}


@pytest.mark.parametrize("less", LESS)
@pytest.mark.parametrize("first", ["user", "project"])
async def test_a_hook_of_a_project_never_takes_the_place_of_a_gate(tmp_path: Path, less: str, first: str) -> None:
    command = "sleep 0.1; exit 2"
    hooks = bash({"command": command}, source="user") + bash({"command": command, **LESS[less]}, source="project")
    async with hook_rig(tmp_path, *(hooks if first == "user" else hooks[::-1])) as rig:
        await rig.bash("touch ran")
        assert [each.decision for each in rig.ended] == ["deny"]
        assert rig.outcomes == ["denied"]


HIDDEN = ("x=rm; $x kept", "`echo rm` kept", "eval 'rm kept'", "echo 'rm kept' | sh", "$(echo rm) kept", "r''m kept")


async def test_a_condition_misses_no_program_that_it_cannot_name(tmp_path: Path) -> None:
    async with hook_rig(tmp_path, *bash({"command": DENY, "if": "Bash(rm *)"})) as rig:
        (rig.folder / "kept").touch()
        await rig.bash(*HIDDEN, "ls kept")
        assert rig.outcomes == [*["denied"] * len(HIDDEN), "ok"]
        assert (rig.folder / "kept").exists()


@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
async def test_a_hook_approves_no_line_that_its_condition_cannot_see_through(tmp_path: Path, event: str) -> None:
    approve = {"permissionDecision": "allow"} if event == "PreToolUse" else {"decision": {"behavior": "allow"}}
    command = f"echo '{json.dumps({'hookSpecificOutput': approve})}'"
    entry = {"type": "command", "command": command, "if": "Bash(touch *)"}
    async with hook_rig(tmp_path, *settings({"hooks": [entry]}, event=event), mode="ask") as rig:
        await rig.bash("touch ran", "x=touch; $x hidden")
        assert rig.outcomes == ["ok", "denied"]
        assert not (rig.folder / "hidden").exists()
