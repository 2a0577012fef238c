"""Laws of what is declared: it changes only if what is known changes, and never where servers are reached on demand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.mcp.tool_declarations import MOST_DECLARED_TOKENS, change_note, next_schemas, session_schemas
from holdfast.tools.mcp.tool_names import ListedTool, declared_tokens, server_of
from laws import law

SERVERS = tuple(McpServer(name=name, command=name) for name in ("a", "a__b", "c d"))


def offers(*names: str, size: int = 10, resources: bool = False) -> ToolList:
    tools = tuple(ListedTool(name=name, description="d" * size) for name in names)
    return ToolList(tools=tools, resources=resources)


ONE = st.sampled_from(
    [
        None,
        offers(),
        offers("x"),
        offers("y", "x"),
        offers("x", "b__x", resources=True),
        offers("\u00e9", "e", "_"),
        offers("long" * 20, "long" * 20 + "er"),
        offers("x", "y", "z", size=4_000),
        offers(*map(str, range(80))),
    ]
)
KNOWN = st.fixed_dictionaries({server.name: ONE for server in SERVERS})


@law()
@given(KNOWN, KNOWN)
def test_it_changes_only_with_what_is_known(
    first: dict[str, ToolList | None], later: dict[str, ToolList | None]
) -> None:
    declared = session_schemas(SERVERS, first)
    assert next_schemas(declared, SERVERS, first) == declared
    assert next_schemas(declared, SERVERS[::-1], first) == declared
    assert next_schemas(declared, (), first) == declared  # no server is configured any more
    now = next_schemas(declared, SERVERS, later)
    names = [each.name for each in SERVERS]
    assert next_schemas(now, SERVERS, later) == now
    assert bool(change_note(declared, now)) is (now != declared)
    assert len({each.name for each in now}) == len(now)
    assert declared_tokens([each for each in now if each.name.startswith("mcp__")]) <= MOST_DECLARED_TOKENS
    if any(each.name == "mcp_find" for each in declared):
        known = {server_of(each.name, names) for each in declared}
        assert {server_of(each.name, names) for each in now} <= known  # what is reached on demand stays so
    constant = [each for each in declared if not each.name.startswith("mcp__")]
    assert [each for each in now if each in constant] == constant
