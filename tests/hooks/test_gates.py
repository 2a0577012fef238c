"""Gates: no other hook takes the place of one, a condition misses nothing, and what cannot be read is never a yes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.config.settings import HookRow, HookTable
from holdfast.hooks.definition import Hook, claude_hooks
from holdfast.hooks.hook_set import hooks_of_table
from holdfast.session.journal import entries as e
from hook_rig import hook, hook_rig, python
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


RUNS: dict[str, dict[str, object]] = {
    "condition": {"if": "Bash(("},
    "condition about no tool": {"if": "Bsh(rm *)"},
    "long time": {"timeout": 7200},
    "no time": {"timeout": 0},
}
ASKS: dict[str, dict[str, object]] = {
    "no command": {"command": ""},
    "command of a wrong type": {"command": ["rm"]},
    "condition of a wrong type": {"if": 5},
    "time of a wrong type": {"timeout": "10"},
    "long command": {"command": "x" * 30_000},
}


@pytest.mark.parametrize("how", RUNS)
async def test_a_gate_with_what_cannot_be_read_runs_for_every_call(tmp_path: Path, how: str) -> None:
    async with hook_rig(tmp_path, *bash({"command": DENY, **RUNS[how]})) as rig:
        await rig.bash("touch ran")
        assert [each.decision for each in rig.ended] == ["deny"]
        assert rig.outcomes == ["denied"]


@pytest.mark.parametrize("how", ASKS)
async def test_a_gate_that_cannot_be_read_asks_about_every_call(tmp_path: Path, how: str) -> None:
    hooks = bash({"command": DENY, **ASKS[how]}, {"command": "true"})
    async with hook_rig(tmp_path, *hooks) as rig:  # without a user
        await rig.bash("touch ran")
        assert rig.outcomes == ["denied"]
        assert any("cannot be read" in each.text for each in rig.entries if isinstance(each, e.CallEnded))
        assert len(rig.ended) == 1


@pytest.mark.parametrize("wrong", [5, {"matcher": "Bash", "hooks": 5}, {"matcher": 5, "hooks": []}, "text"])
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_a_wrong_group_drops_no_other(wrong: object, event: str) -> None:
    good = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}
    found = claude_hooks(json.dumps({"hooks": {event: [wrong, good]}}).encode(), source="settings.json")
    assert [hook.command for hook in found.hooks if hook.command] == ["true"]
    assert len(found.faults) == 1
    asks = event == "PreToolUse" and wrong != {"matcher": 5, "hooks": []}
    assert len(found.hooks) == 1 + asks


def test_the_gates_of_the_config_are_read_in_the_same_way() -> None:
    rows = (HookRow(command=""), HookRow(command="true", condition="Bash(("), HookRow(command="true", timeout=7200))
    hooks, faults = hooks_of_table(HookTable(pre_tool_use=rows, notification=rows), source="config.toml")
    assert [(hook.event, hook.command, hook.condition, hook.timeout) for hook in hooks] == [
        ("PreToolUse", "", None, 600.0),
        ("PreToolUse", "true", None, 600.0),
        ("PreToolUse", "true", None, 3600.0),
    ]
    assert len(faults) == 6


async def test_no_approval_counts_beside_a_hook_that_cannot_be_read(tmp_path: Path) -> None:
    allow = json.dumps({"hookSpecificOutput": {"decision": {"behavior": "allow"}}})
    entries: list[object] = [{"type": "command", "command": f"echo '{allow}'"}, {"type": "command"}]
    async with hook_rig(tmp_path, *settings({"hooks": entries}, event="PermissionRequest"), mode="ask") as rig:
        await rig.bash("touch ran")
        assert rig.outcomes == ["denied"]


async def test_an_answer_is_about_the_arguments_that_the_hook_saw(tmp_path: Path) -> None:
    """A hook approves `touch one` as `touch two`, of which another makes `touch three`: that needs a question."""
    approve = python(
        'allowed = told["tool_input"]["command"] == "touch one"\n'
        'decision = {"behavior": "allow", "updatedInput": {"command": "touch two"}} if allowed else None\n'
        'print(json.dumps({"hookSpecificOutput": {"decision": decision}}))'
    )
    change = python(
        'new = told["tool_input"]["command"].replace("two", "three")\n'
        'print(json.dumps({"hookSpecificOutput": {"updatedInput": {"command": new}}}))'
    )
    hooks = (hook("PermissionRequest", approve), hook("PreToolUse", change))
    async with hook_rig(tmp_path, *hooks, mode="ask") as rig:
        await rig.bash("touch one")
        assert rig.outcomes == ["denied"]
        assert list(rig.folder.iterdir()) == []
    async with hook_rig(tmp_path, hooks[0], mode="ask") as rig:
        await rig.bash("touch one")
        assert [each.name for each in rig.folder.iterdir()] == ["two"]


@pytest.mark.parametrize("allows", [True, False])
async def test_no_hook_approves_what_another_makes_of_a_call(tmp_path: Path, allows: bool) -> None:  # noqa: FBT001 - a parameter of the test
    approve = {"hookSpecificOutput": {"permissionDecision": "allow"}}
    change: dict[str, object] = {"updatedInput": {"command": "touch two"}}
    change |= {"permissionDecision": "allow"} if allows else {}
    commands = [f"echo '{json.dumps(each)}'" for each in (approve, {"hookSpecificOutput": change})]
    async with hook_rig(tmp_path, *(hook("PreToolUse", each) for each in commands), mode="ask") as rig:
        await rig.bash("touch one")
        assert rig.outcomes == ["ok" if allows else "denied"]
