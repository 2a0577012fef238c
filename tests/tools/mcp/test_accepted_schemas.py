"""The schemas of servers' tools as they are declared: no provider is known to refuse one of them."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.mcp.tool_declarations import CALL, FIND, READ, session_schemas
from holdfast.tools.mcp.tool_names import ListedTool, object_schema

TEXT = {"type": "string"}
ODD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a choice at the top": (
        {
            "type": "object",
            "anyOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT}, "required": ["b"]}],
        },
        {"type": "object", "properties": {"b": TEXT, "a": TEXT}},
    ),
    "what an object may not be at the top": (
        {"type": "object", "properties": {"a": TEXT}, "not": {"required": ["a"]}, "enum": [{}], "const": {}},
        {"type": "object", "properties": {"a": TEXT}},
    ),
    "an array of anything": (
        {"properties": {"a": {"type": "array"}, "b": {"type": ["array", "null"]}}},
        {
            "type": "object",
            "properties": {"a": {"type": "array", "items": {}}, "b": {"type": ["array", "null"], "items": {}}},
        },
    ),
    "data that look like a schema": (
        {"properties": {"a": {"default": {"type": "array"}, "enum": [{"$ref": "#/x"}]}}},
        {"type": "object", "properties": {"a": {"default": {"type": "array"}, "enum": [{"$ref": "#/x"}]}}},
    ),
    "a reference that leads nowhere": (
        {"properties": {"a": {"$ref": "#/$defs/T"}, "b": {"$ref": "#/definitions/No"}}, "$defs": {"T": TEXT}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/T"}, "b": {}}, "$defs": {"T": TEXT}},
    ),
    "a reference to another document": (
        {"properties": {"a": {"$ref": "schema.json"}}},
        {"type": "object", "properties": {"a": {}}},
    ),
    "a required property without a schema": (
        {"properties": {"a": TEXT}, "required": ["a", "zzz", 3]},
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
    ),
    "a required that is no list": ({"required": "a"}, {"type": "object", "properties": {}, "required": []}),
}


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_schema_is_declared_as_providers_accept_it(odd: str) -> None:
    given, declared = ODD[odd]
    assert object_schema(given) == declared
    assert object_schema(declared) == declared, "and what was accepted stays as it is"


def test_a_schema_of_any_depth_has_an_end() -> None:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(300):
        schema = {"type": "object", "properties": {"in": schema}}
    assert object_schema(schema)["type"] == "object"


@pytest.mark.parametrize("name", ["@type", "a b", "ünï", "x" * 65, ""])
def test_a_tool_whose_argument_no_provider_may_see_is_reached_by_a_call_by_its_name(name: str) -> None:
    server = McpServer(name="odd", command="odd")
    tools = (
        ListedTool(name="good", parameters={"properties": {"a.b-c_d": TEXT}}),
        ListedTool(name="bad", parameters={"properties": {name: TEXT}}),
    )
    names = [each.name for each in session_schemas([server], {"odd": ToolList(tools=tools)})]
    assert names == ["mcp__odd__good", FIND, CALL, READ]
    assert [each.name for each in session_schemas([server], {"odd": ToolList(tools=tools[:1])})] == ["mcp__odd__good"]
