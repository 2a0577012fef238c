"""Calls written as text are read in each form that models were trained on, and nothing else is a call."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.tool_calls import Effect, ToolSchema
from holdfast.tools.arguments.tolerant_tool import ToolNames
from holdfast.tools.arguments.written_calls import LONGEST_PLAN, ends_with_call, written_calls
from holdfast.tools.builtin.declarations import BASH_SCHEMA, EDIT_SCHEMA, GLOB_SCHEMA, READ_SCHEMA
from holdfast.tools.tool import Plan
from laws import law


class Declared:
    """A tool that is never planned."""

    effect: Effect = "read"

    def __init__(self, schema: ToolSchema) -> None:
        self.schema = schema

    def plan(self, call: str, arguments: str) -> Plan:
        raise AssertionError((call, arguments))


SERVER = ToolSchema(
    name="mcp__db__query",
    description="",
    parameters={"type": "object", "properties": {"n": {"type": "integer"}, "any": True}, "required": ["n"]},
)
TOOLS = ToolNames(
    {schema.name: Declared(schema) for schema in (READ_SCHEMA, EDIT_SCHEMA, BASH_SCHEMA, GLOB_SCHEMA)},
    {SERVER.name: Declared(SERVER)},
)
JSON = '{"name": "read", "arguments": {"path": "a"}}'
READ = [("read", {"path": "a"})]

FORMS = {
    "tool_call": f"<tool_call>\n{JSON}\n</tool_call>",
    "tool_call without its end": f"<tool_call>\n{JSON}\n",
    "tools": f"<tools>{JSON}</tools>",
    "function_call": f"<function_call>{JSON}</function_call>",
    "a fence": f"```json\n{JSON}\n```",
    "a fence in one line": f"```{JSON}```",
    "a fence without its end": f"```json\n{JSON}",
    "a fence around tags": f"```xml\n<tool_call>{JSON}</tool_call>\n```",
    "bare": JSON,
    "bare, with parameters": '{"type": "function", "name": "read", "parameters": {"path": "a"}}',
    "bare, of two braces": '{{"name": "read", "arguments": {"path": "a"}}}',
    "a list": f"[{JSON}]",
    "as OpenAI has it": (
        '{"id": "1", "type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}}'
    ),
    "function": "<function=read>\n<parameter=path>\na\n</parameter>\n</function>",
    "function in tool_call": (
        "<tool_call>\n<function=read>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>"
    ),
    "function with JSON": '<function=read>{"path": "a"}</function>',
    "invoke": (
        '<function_calls>\n<invoke name="read">\n<parameter name="path">a</parameter>\n</invoke>\n</function_calls>'
    ),
    "MiniMax": (
        '<minimax:tool_call><invoke name="read"><parameter name="path">a</parameter></invoke></minimax:tool_call>'
    ),
    "DSML": (
        '<!DSML!function_calls>\n<!DSML!invoke name="read">\n<!DSML!parameter name="path" string="true">a'
        "</!DSML!parameter>\n</!DSML!invoke>\n</!DSML!function_calls>"
    ).replace("!", "\uff5c"),
    "Mistral": f"[TOOL_CALLS][{JSON}]",
    "Mistral, later": '[TOOL_CALLS]read[ARGS]{"path": "a"}',
    "Llama": '<|python_tag|>{"name": "read", "parameters": {"path": "a"}}<|eom_id|>',
    "Granite": f"<|tool_call|>[{JSON}]",
    "Command": (
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "read", "parameters": {"path": "a"}}]<|END_ACTION|>'
    ),
    "Kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
        '{"path": "a"}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "DeepSeek": (
        "<!tool▁calls▁begin!><!tool▁call▁begin!>function<!tool▁sep!>read\n```json\n"
        '{"path": "a"}\n```<!tool▁call▁end!><!tool▁calls▁end!>'
    ).replace("!", "\uff5c"),
    "DeepSeek, later": (
        '<!tool▁calls▁begin!><!tool▁call▁begin!>read<!tool▁sep!>{"path": "a"}<!tool▁call▁end!><!tool▁calls▁end!>'
    ).replace("!", "\uff5c"),
    "GLM": "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
    "harmony": '<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path": "a"}<|call|>',
}


def calls(text: str) -> list[tuple[str, object]]:
    return [
        (call.name.removeprefix("functions."), json.loads(call.arguments)) for call in written_calls(text, TOOLS).calls
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_a_call_alone_and_behind_text(form: str) -> None:
    assert calls(FORMS[form]) == READ
    assert ends_with_call(FORMS[form], TOOLS).removeprefix("functions.") == "read"
    found = written_calls(f"I look.\n{FORMS[form]}\n", TOOLS)
    assert (found.before.strip(), len(found.calls), found.unread) == ("I look.", 1, "")
    assert found.before + found.written == f"I look.\n{FORMS[form]}\n"


@pytest.mark.parametrize("form", sorted(FORMS.keys() - {"tool_call without its end", "a fence without its end"}))
def test_several_calls_between_prose_are_those_of_the_answer(form: str) -> None:
    if form.startswith(("bare", "a list", "as OpenAI")):  # alone, they are all of an answer
        form = "tool_call"
    text = f"### Step 1\n{FORMS[form]}\n### Step 2\n{FORMS['tool_call']}\n### That is all.\n"
    assert calls(text) == READ * 2
    assert written_calls(text, TOOLS).before.strip() == "### Step 1"
    assert ends_with_call(text, TOOLS) == ""


def test_names_and_values_are_read_as_those_of_calls_are() -> None:
    assert calls('{"name": "list", "arguments": {}}') == [("list", {})]
    assert calls('{"name": "read_file", "arguments": {"file_path": "a", "limit": "3"}}') != []
    assert calls("<function=read><parameter=path>a</parameter><parameter=limit>\n3\n</parameter></function>") == [
        ("read", {"path": "a", "limit": 3})
    ]
    query = (
        '<invoke name="mcp__db__query"><parameter name="n">3</parameter><parameter name="any">x</parameter></invoke>'
    )
    assert calls(query) == [("mcp__db__query", {"n": 3, "any": "x"})]
    code = "<function=bash>\n<parameter=command>\n  echo '```'\n\n  echo b\n</parameter>\n</function>"
    assert calls(code) == [("bash", {"command": "  echo '```'\n\n  echo b"})]
    assert calls('<tool_call>{"name": "bash", "arguments": {"command": "a\nb ``` c"}}</tool_call>') == [
        ("bash", {"command": "a\nb ``` c"})
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All is well.",
        '{"name": "read", "arguments": {"path": "a"}, "note": "more"}',
        '{"name": "Bob", "arguments": {"age": 3}}',
        '{"name": "read"}',
        '{"path": "a"}',
        '[{"name": "read", "arguments": {"path": "a"}}, 3]',
        '```json\n{"name": "read", "arguments": {"path": "a"}}\nand more\n```',
        "Qwen writes it so:\n```\nassistant: <tool_call>" + JSON + "</tool_call>\n```\nDo you see?",
        "The tag <tool_call> opens a call.",
        "<tool_call> is the tag of Qwen.",
        "`<tool_call>{}</tool_call>` is empty.",
        "A list: [TOOL_CALLS] is a token.",
    ],
)
def test_what_is_about_calls_is_none(text: str) -> None:
    found = written_calls(text, TOOLS)
    assert (found.calls, found.unread, found.before) == ((), "", text)
    assert ends_with_call(text, TOOLS) == ""


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "frobnicate", "arguments": {}}</tool_call>',
        '<tool_call>{"name": "read", "arguments": {"x": 1}}</tool_call>',
        '{"name": "read", "arguments": {}}',
        '{"name": "read", "arguments": {"path": ["a", "b"]}}',
        '<tool_call>{"name": "read", "arguments": {"path": ',
        "I look.\n<function=read>\n<parameter=path>a",
        '<tool_call>{"name": "read"}</tool_call>',
    ],
)
def test_a_call_that_no_tool_takes_is_no_answer_either(text: str) -> None:
    found = written_calls(text, TOOLS)
    assert (found.calls, bool(found.unread)) == ((), True)
    assert ends_with_call(text, TOOLS) == found.unread


def test_calls_behind_one_that_does_not_fit_are_not_run() -> None:
    wrong = '<tool_call>{"name": "read", "arguments": {}}</tool_call>'
    assert calls(FORMS["tool_call"] + wrong + FORMS["tool_call"]) == READ


@law()
@given(st.lists(st.sampled_from([*FORMS.values(), "```", "{", "<tool_call>", "text ", "\n", '"', "</tool_call>", "]"])))
def test_any_text_is_read(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = written_calls(text, TOOLS)
    assert all(tool.name in text for tool in found.calls)
    assert not (found.calls and found.unread)
    assert found.before + found.written == text
    assert ends_with_call(text, TOOLS) == "" or any(mark in text for mark in "{<[")


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        "<tool_call>{",
        "```",
        "{",
        "[TOOL_CALLS]",
        "<arg_key>",
        "to=a ",
        "\n",
        " ",
        "<|tool_call|>",
        "\n {",
        "<tool_call>read<arg_key>a</arg_key>",
        '<invoke name="read"><parameter name="a">',
        "<\uff5ctool▁call▁begin\uff5c>a\n",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (LONGEST_PLAN // len(piece))
    began = time.process_time()
    written_calls(text, TOOLS)
    ends_with_call(text, TOOLS)
    assert time.process_time() - began < 5.0
