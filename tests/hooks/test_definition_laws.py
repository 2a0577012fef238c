"""The laws of `holdfast.hooks.definition`: any JSON gives hooks and faults; a matcher names what its rules say."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.hooks.definition import EVENTS, claude_hooks, new_hook
from holdfast.hooks.hook_set import hooks_digest
from laws import law

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 700), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=5), inner, max_size=2)),
    max_leaves=4,
)

entries = st.fixed_dictionaries(
    {}, optional={"type": json_values, "command": json_values, "args": json_values, "timeout": json_values}
)
groups = st.one_of(json_values, st.lists(st.fixed_dictionaries({"hooks": st.lists(entries, max_size=3)}), max_size=3))
settings = st.fixed_dictionaries(
    {"hooks": st.dictionaries(st.sampled_from([*EVENTS, "SubagentStop", "Other"]), groups, max_size=4)}
)


@law()
@given(st.one_of(json_values, settings))
def test_any_json_gives_hooks_and_faults(found: object) -> None:
    hooks = claude_hooks(msgspec.json.encode(found), source="settings.json")
    known = sum(hook.event in EVENTS and bool(hook.command.strip() or hook.fault) for hook in hooks.hooks)
    assert known == len(hooks.hooks)
    assert sum("settings.json" in fault for fault in hooks.faults) == len(hooks.faults)


@law()
@given(st.binary(max_size=200))
def test_any_bytes_give_faults(raw: bytes) -> None:
    found = claude_hooks(raw, source="settings.json")
    assert found.hooks == ()
    assert len(found.faults) <= 1


@pytest.mark.parametrize(
    ("matcher", "names", "others"),
    [
        ("", ("Bash", "mcp__s__t"), ()),
        ("*", ("Bash",), ()),
        ("Bash", ("Bash",), ("BashOutput", "bash")),
        ("Edit|Write", ("Edit", "Write"), ("MultiEdit",)),
        ("Edit, Write", ("Edit", "Write"), ("MultiEdit",)),
        ("mcp__memory__.*", ("mcp__memory__add",), ("mcp__other__add",)),
        ("^Note", ("Notebook",), ("MyNote",)),
        ("book", (), ("Notebook",)),
        ("b.*k", ("Notebook",), ("Bash",)),
        ("(", ("Bash", "Edit"), ()),
    ],
)
def test_a_matcher_names_exact_names_or_is_a_pattern(
    matcher: str, names: tuple[str, ...], others: tuple[str, ...]
) -> None:
    hook = new_hook("PreToolUse", "true", source="s", matcher=matcher)
    assert [name for name in (*names, *others) if hook.matches(name)] == [*names]


def test_a_file_names_what_is_not_used_and_why() -> None:
    text = json.dumps(
        {
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "(",
                        "hooks": [
                            {"type": "command", "command": "true", "timeout": 5, "if": "Bash(git *)", "async": True},
                            {"type": "prompt", "prompt": "Is it safe?"},
                            {"type": "command", "command": "prog", "args": ["a b", "c"]},
                            {"type": "command", "command": "x", "timeout": -1},
                        ],
                    }
                ],
                "SubagentStop": [],
                "Strange": [],
            },
            "disableAllHooks": False,
        }
    )
    found = claude_hooks(text.encode(), source="s.json")
    first, second, third = found.hooks
    assert (first.timeout, first.is_async, first.condition is not None) == (5.0, True, True)
    assert second.line == "exec prog 'a b' c"
    assert (third.command, third.timeout) == ("x", 600.0)  # a gate is used, with the time of others
    assert len(found.faults) == 5
    assert any("'prompt'" in fault for fault in found.faults)
    assert any("no subagents yet" in fault for fault in found.faults)
    assert any("'Strange'" in fault for fault in found.faults)
    assert any("no regular expression" in fault for fault in found.faults)


def test_what_is_trusted_is_what_would_run() -> None:
    def digest(**entry: object) -> str:
        group = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true", **entry}]}
        return hooks_digest(claude_hooks(json.dumps({"hooks": {"Stop": [group]}}).encode(), source="s").hooks)

    assert digest() == digest(statusMessage="Looking")
    assert (
        len({digest(), digest(command="false"), digest(timeout=5), digest(args=["x"]), digest(**{"async": True})}) == 5
    )
