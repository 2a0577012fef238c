"""Laws of what is declared: it changes only if what is known changes, and never where servers are reached on demand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.agent.server_notices import change_note
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.mcp.tool_declarations import (
    MOST_DECLARED,
    MOST_DECLARED_TOKENS,
    next_schemas,
    session_schemas,
)
from holdfast.tools.mcp.tool_names import ListedTool, declared_tokens, server_of
from laws import law

SERVERS = tuple(McpServer(name=name, command=name, declare=name == "w") for name in ("a", "a b", "c d", "w"))


def offers(*names: str, size: int = 10, resources: bool = False) -> ToolList:
    tools = tuple(ListedTool(name=name, description="d" * size) for name in names)
    return ToolList(tools=tools, resources=resources)


OFFERS: dict[str, ToolList | None] = {
    "unknown": None,
    "none": offers(),
    "one": offers("x"),
    "two": offers("y", "x"),
    "another's name": offers("x", "b__x", resources=True),
    "same names": offers("\u00e9", "e", "_"),
    "long names": offers("long" * 20, "long" * 20 + "er"),
    "large": offers("x", "y", "z", size=4_000),
    "many": offers(*map(str, range(80))),
}
KNOWN = st.fixed_dictionaries({server.name: st.sampled_from(sorted(OFFERS)) for server in SERVERS})


@law()
@given(KNOWN, KNOWN)
def test_it_changes_only_with_what_is_known(known_first: dict[str, str], known_later: dict[str, str]) -> None:
    first, later = ({name: OFFERS[each] for name, each in known.items()} for known in (known_first, known_later))
    declared = session_schemas(SERVERS, first)
    assert next_schemas(declared, SERVERS, first) == declared
    assert next_schemas(declared, SERVERS[::-1], first) == declared
    assert next_schemas(declared, (), first) == declared  # no server is configured any more
    now = next_schemas(declared, SERVERS, later)
    names = [each.name for each in SERVERS]
    assert next_schemas(now, SERVERS, later) == now
    assert bool(change_note(declared, now)) is (now != declared)
    assert len({each.name for each in now}) == len(now)
    of_servers = [each for each in now if each.name.startswith("mcp__")]
    assert declared_tokens([each for each in of_servers if server_of(each.name, names) != "w"]) <= MOST_DECLARED_TOKENS
    assert len(of_servers) <= MOST_DECLARED
    if any(each.name == "mcp_find" for each in declared):
        known = {server_of(each.name, names) for each in declared}
        assert {server_of(each.name, names) for each in now} <= known  # what is reached on demand stays so
    constant = [each for each in declared if not each.name.startswith("mcp__")]
    assert [each for each in now if each in constant] == constant


def test_a_server_is_declared_whatever_its_size_if_the_user_wants_it() -> None:
    large = offers(*map(str, range(6)), size=4_000)
    lists = {"a": large, "w": large, "c d": offers("x")}
    declared = session_schemas(SERVERS, lists)
    names = [each.name for each in declared]
    assert names == ["mcp__c_d__x", *(f"mcp__w__{each}" for each in range(6)), "mcp_find", "mcp_call", "mcp_read"]
    assert next_schemas(declared, SERVERS, lists) == declared
    later = next_schemas(session_schemas(SERVERS[3:], {}), SERVERS, lists)
    assert not [each for each in later if server_of(each.name, ("w",))]  # reached on demand for the session's life
    many = {"w": offers(*map(str, range(MOST_DECLARED + 1)))}
    assert [each.name for each in session_schemas(SERVERS[3:], many)] == ["mcp_find", "mcp_call", "mcp_read"]
