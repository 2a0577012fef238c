"""The slips of each family of models against each tool: none costs a step, and what was done about it is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from trained_slips import MEANT, NATIVE, SLIPS

from holdfast.errors import ToolFailed
from holdfast.tools.approval.decision import Ask, Deny, Policy, decide
from holdfast.tools.arguments.tolerant_reader import read_arguments
from holdfast.tools.arguments.tolerant_tool import ToolNames, canonical_name
from holdfast.tools.builtin.bash import BashTool
from holdfast.tools.builtin.declarations import SCHEMAS as READ_AS
from holdfast.tools.builtin.declarations import TodoArguments
from holdfast.tools.builtin.edit import EditTool
from holdfast.tools.builtin.read_write import ReadTool
from holdfast.tools.patches.apply_patch import ApplyPatchTool
from holdfast.tools.process.session_supervisors import Supervisors
from holdfast.tools.schema import parse_arguments
from tool_harness import called, workspace

BLOCKS = "<<<<<<< SEARCH\n  a\n  b\n=======\n  c\n>>>>>>> REPLACE\n<<<<<<< SEARCH\nd\n=======\n>>>>>>> REPLACE"
EDITS = [{"old": "  a\n  b", "new": "  c"}, {"old": "d\n", "new": ""}]
SCHEMAS = {schema.name: schema for schema in READ_AS}


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("family", NATIVE)
@pytest.mark.parametrize("tool", MEANT)
def test_a_slip_is_read_as_what_was_meant(tool: str, family: str, slip: str) -> None:
    _, arguments = NATIVE[family][tool]
    read = read_arguments(SLIPS[slip](arguments), SCHEMAS[tool])
    assert json.loads(read.raw) == MEANT[tool]


@pytest.mark.parametrize("family", NATIVE)
@pytest.mark.parametrize("tool", MEANT)
def test_a_tool_is_found_by_the_name_it_was_trained_with(tool: str, family: str) -> None:
    assert canonical_name(NATIVE[family][tool][0]) == tool


def test_there_are_enough_of_them() -> None:
    assert len(SLIPS) >= 10
    assert set(MEANT) <= set(SCHEMAS)


@pytest.mark.parametrize("tool", MEANT)
def test_what_the_schema_has_is_left_as_it_is(tool: str) -> None:
    raw = json.dumps(MEANT[tool], indent=2)
    read = read_arguments(raw, SCHEMAS[tool])
    assert (read.raw, read.note) == (raw, "")


@pytest.mark.parametrize(
    ("tool", "arguments", "note"),
    [
        ("read", {"file_path": "a"}, "[Arguments: 'file_path' was read as 'path'.]"),
        ("read", {"path": "a", "encoding": "utf-8"}, "[Arguments: 'encoding' is unknown and was ignored.]"),
        ("read", {"path": "a", "filename": "b"}, "[Arguments: 'filename' was ignored because 'path' was given.]"),
        ("bash", {"command": "a", "timeout": 120000}, "[Arguments: 'timeout' 120000 was read as milliseconds: 120 s.]"),
        ("bash", {"command": "a", "timeout": 7200}, "[Arguments: 'timeout' 7200 is above its limit, 3600 was used.]"),
        ("bash", {"command": "a", "description": "b"}, ""),
        ("bash", {"command": ["ls", "a b"]}, "[Arguments: a list of words was joined to one command.]"),
        ("grep", {"pattern": "a", "context": 50}, "[Arguments: 'context' 50 is above its limit, 20 was used.]"),
        (
            "todo",
            {"items": [{"content": "a"}, {"content": "b"}]},
            "[Arguments: 'items[].content' was read as 'items[].text'.]",
        ),
    ],
)
def test_what_was_done_is_said(tool: str, arguments: object, note: str) -> None:
    assert read_arguments(json.dumps(arguments), SCHEMAS[tool]).note == note


@pytest.mark.parametrize(
    ("tool", "arguments", "meant"),
    [
        ("bash", {"command": "a", "timeout": 120000}, {"command": "a", "timeout": 120}),
        ("bash", {"command": "a", "timeout": 600}, {"command": "a", "timeout": 600}),
        ("bash", {"command": "a", "timeout_ms": 5000}, {"command": "a", "timeout": 5}),
        ("bash", {"command": ["ls", "a b"]}, {"command": "ls 'a b'"}),
        ("read", {"path": "a", "offset": 0}, {"path": "a", "offset": 1}),
        ("read", {"path": "a", "view_range": [5, 9]}, {"path": "a", "offset": 5, "limit": 5}),
        ("read", {"path": "a", "view_range": [5, -1]}, {"path": "a", "offset": 5}),
        ("grep", {"pattern": 404}, {"pattern": "404"}),
        ("grep", {"pattern": "a", "path": ["src"]}, {"pattern": "a", "path": "src"}),
        (
            "todo",
            {"items": ["a", {"text": "b", "status": "pending"}]},
            {"items": [{"text": "a"}, {"text": "b", "state": "open"}]},
        ),
        ("todo", [{"content": "a"}], {"items": [{"text": "a"}]}),
        ("bash", "ls", {"command": "ls"}),
        ("edit", {"path": "a", "diff": BLOCKS}, {"path": "a", "edits": EDITS}),
        ("edit", {"path": "a", "content": f"```\n{BLOCKS}\n```"}, {"path": "a", "edits": EDITS}),
        ("edit", {"path": "a", "edits": BLOCKS.replace("<<<<<<<", "-------")}, {"path": "a", "edits": EDITS}),
    ],
)
def test_a_value_is_converted_where_it_has_one_reading(tool: str, arguments: object, meant: object) -> None:
    assert json.loads(read_arguments(json.dumps(arguments), SCHEMAS[tool]).raw) == meant


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        ("bash", {"command": "rm -rf build", "environment": {"A": "b"}}, "environment"),
        ("write", {"path": "a", "content": "b", "mode": "append"}, "mode"),
        ("edit", {"path": "a", "old": "b.*", "new": "c", "regex": True}, "regex"),
        ("fetch", {"url": "https://example.org", "method": "POST"}, "method"),
        ("edit", {"path": "a", "old": "b", "new": "c", "diff": f"{BLOCKS}\nand more"}, "diff"),
    ],
)
def test_what_would_change_the_call_is_refused(tool: str, arguments: object, field: str) -> None:
    with pytest.raises(ToolFailed, match=f"Argument '{field}'.*Nothing was done") as failed:
        read_arguments(json.dumps(arguments), SCHEMAS[tool])
    assert all(name in str(failed.value) for name in MEANT[tool])


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a',
        '{"path": }',
        '"',
        "",
        "[",
        "{'path': open('a')}",
        "{'path': b'a'}",
        "{'a': {1, 2}}",
        "[" * 100_000,
    ],
)
def test_what_is_not_json_is_left_to_the_strict_parser(raw: str) -> None:
    assert read_arguments(raw, SCHEMAS["read"]).raw == raw


def test_the_result_ends_with_what_was_done(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    (place.root / "a.py").write_text("x = 1\n")
    tools = ToolNames({"read": ReadTool(place)})
    text = called(tools["read_file"], file_path="a.py").text
    assert text.splitlines()[-2:] == [
        "[Tool 'read_file' is 'read' here.]",
        "[Arguments: 'file_path' was read as 'path'.]",
    ]
    assert called(tools["read"], path="a.py").text == "1\tx = 1"
    assert list(tools) == ["read"]
    with pytest.raises(ToolFailed, match=r"b\.py") as failed:
        called(tools["read"], file_path="b.py")
    assert str(failed.value).endswith("[Arguments: 'file_path' was read as 'path'.]")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (
            '{"items":[{"text":"a"},{"text":"b","state":"x"}]}',
            "items[1].state: .* The fields of items[1] are: text, state.",
        ),
        ('{"items":[{"foo":1}]}', "items[0]: .* The fields of items[0] are: text, state."),
        ('{"items":5}', "items: .* Its fields are: items."),
    ],
)
def test_an_error_names_the_inner_field(raw: str, message: str) -> None:
    with pytest.raises(ToolFailed, match=message.replace("[", r"\[").replace("]", r"\]")):
        parse_arguments(raw, TodoArguments, tool="todo")


def test_a_patch_in_a_shell_command_is_a_change_of_files_to_rules_and_modes(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    (place.root / "a.py").write_text("x = 1\n")
    (place.root / "src").mkdir()
    tools = ToolNames({"bash": BashTool(place, Supervisors(tmp_path)), "apply_patch": ApplyPatchTool(place)})
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch"
    arguments = json.dumps({"command": f"apply_patch <<'EOF'\n{patch}\nEOF"})
    plan = tools["Bash"].plan("call_1", arguments)
    assert (plan.tool, plan.effect, plan.command, [each.path for each in plan.changes]) == (
        "apply_patch",
        "write",
        "",
        ["a.py"],
    )
    assert isinstance(decide(plan, Policy("plan"), tool=plan.tool), Deny)
    assert isinstance(decide(plan, Policy("ask"), tool=plan.tool), Ask)
    for more in ({"cwd": "src"}, {"background": True}):
        with pytest.raises(ToolFailed, match="apply_patch"):
            tools["bash"].plan("call_1", json.dumps({**json.loads(arguments), **more}))
    with pytest.raises(ToolFailed, match="apply_patch"):
        tools["bash"].plan("call_1", json.dumps({"command": f"{json.loads(arguments)['command']}\nls"}))


def test_the_editor_is_a_change_of_files_to_rules_and_modes(tmp_path: Path) -> None:
    place = workspace(tmp_path)
    (place.root / "a.py").write_text("x = 1\n")
    tools = ToolNames({"read": ReadTool(place), "edit": EditTool(place)})
    arguments = {"command": "str_replace", "path": "a.py", "old_str": "1", "new_str": "2"}
    plan = tools["str_replace_editor"].plan("call_1", json.dumps(arguments))
    assert (plan.tool, plan.effect) == ("edit", "write")
    assert tools["str_replace_editor"].plan("call_1", '{"command": "view", "path": "a.py"}').effect == "read"
    assert list(tools) == ["read", "edit"]
    patching = ToolNames({"read": ReadTool(place), "apply_patch": ApplyPatchTool(place)})
    with pytest.raises(ToolFailed, match=r"Nothing was done\. Change files with apply_patch\."):
        patching["str_replace_editor"].plan("call_1", json.dumps(arguments))
