"""Laws of names: a name of a tool belongs to one server, and a rule about a server covers no tool of another."""

from __future__ import annotations

import re

from hypothesis import assume, example, given
from hypothesis import strategies as st

from holdfast.tools.mcp.tool_names import (
    LONGEST_TOOL_NAME,
    model_name,
    server_name_fault,
    server_of,
    server_prefix,
    server_word,
)
from holdfast.tools.permission_rules.permission_rule import names_tool, permission_rule
from laws import law

SERVERS = st.text(alphabet="ab_- .é", min_size=1, max_size=8) | st.sampled_from(["tracker", "tracker_x", "tracker__x"])
TOOLS = st.text(alphabet="ab_-.é/", min_size=1, max_size=80)


@law()
@given(SERVERS, SERVERS, TOOLS)
@example("tracker", "tracker__x", "y")
@example("a", "a_", "b")
@example("a", "a b", "_")
def test_a_name_belongs_to_one_server(one: str, other: str, tool: str) -> None:
    assume(not server_name_fault(one) and not server_name_fault(other))
    assume(server_word(one).lower() != server_word(other).lower())
    name = model_name(other, tool)
    assert len(name) <= LONGEST_TOOL_NAME
    assert re.fullmatch(r"[A-Za-z0-9_-]+", name)
    assert server_of(name, [one, other]) == server_of(name, [other, one]) == other
    for text in (f"mcp__{server_word(one)}", f"mcp__{server_word(one)}__*"):
        assert not names_tool(permission_rule(text, "allow", source="x"), name)
        assert names_tool(permission_rule(text, "allow", source="x"), model_name(one, tool))


def test_a_name_of_a_server_has_no_two_underscores_in_a_row() -> None:
    for name in ("tracker__x", "_a", "a_", "a___b"):
        assert "two underscores in a row" in server_name_fault(name)
    for name in ("tracker_x", "my server!", "日本", "a . b"):
        assert server_name_fault(name) == ""
        assert "__" not in server_prefix(name).removeprefix("mcp__").removesuffix("__")
    assert server_word("日本") != server_word("中国")


def test_a_rule_about_a_tool_covers_no_other() -> None:
    rule = permission_rule("mcp__a__b", "allow", source="x")
    assert names_tool(rule, "mcp__a__b")
    assert not names_tool(rule, "mcp__a__b__c")
    assert names_tool(permission_rule("mcp__a__b__*", "allow", source="x"), "mcp__a__b__c")
