"""What a session declares of MCP servers: the tools of small ones, and constant tools that reach all others.

Pure. The list begins every request, and a provider's cache holds only for the same bytes. So it is made when a session
begins, and again only between turns: a server that changes its tools during a turn, or is away, changes the result of a
call and never the declarations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.text import valid_unicode
from holdfast.tool_calls import ToolSchema
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.mcp.tool_names import declarations, declared_tokens, refused_arguments, server_of

Lists = Mapping[str, ToolList | None]
"""What is known of each server by its name, None if nothing is."""

MOST_DECLARED_TOKENS = 5_000
"""Tokens that the declarations of all servers may take together; the tools of further servers are found on demand."""

MOST_DECLARED = 90
"""Tools of servers that are declared: OpenAI accepts 128 in all."""

FIND, CALL, READ = "mcp_find", "mcp_call", "mcp_read"

_LONGEST_SELF_DESCRIPTION = (
    2_000  # characters of the servers' descriptions of themselves, in the description of `mcp_find`
)


def session_schemas(servers: Sequence[McpServer], lists: Lists) -> tuple[ToolSchema, ...]:
    """Return what a new session declares for these servers, the smallest lists first.

    Those with `declare` come first. They do not count as tokens, but providers limit how many tools there may be.
    """
    always = _always_declared(servers)
    lists = {each.name: lists.get(each.name) for each in servers}
    known = [(name, _server_schemas(name, listed, lists)) for name, listed in lists.items() if listed is not None]
    declared: list[ToolSchema] = []
    left_out = [name for name, listed in lists.items() if listed is None]
    counted: list[ToolSchema] = []
    for name, schemas in sorted(known, key=lambda each: (each[0] not in always, declared_tokens(each[1]), each[0])):
        if not _fit(schemas, counted, total=len(declared), always=name in always):
            left_out.append(name)
            continue
        declared += schemas
        counted += () if name in always else schemas
    left_out += [name for name, listed in lists.items() if listed and name not in left_out and _has_refused(listed)]
    found = [each for each in lists.values() if each is not None]
    reads = (_READ,) if left_out or any(each.resources for each in found) else ()
    instructions = {
        name: listed.instructions for name, listed in lists.items() if listed is not None and name in left_out
    }
    on_demand = _on_demand(left_out, instructions) if left_out else ()
    return (*sorted(declared, key=lambda each: each.name), *on_demand, *reads)


def _always_declared(servers: Sequence[McpServer]) -> frozenset[str]:
    return frozenset(each.name for each in servers if each.declare)


def _fit(schemas: Sequence[ToolSchema], counted: Sequence[ToolSchema], *, total: int, always: bool) -> bool:
    """Return whether a server's tools fit next to `total` declared ones, of which `counted` count as tokens."""
    if total + len(schemas) > MOST_DECLARED:
        return False
    return always or declared_tokens((*counted, *schemas)) <= MOST_DECLARED_TOKENS


def _has_refused(listed: ToolList) -> bool:
    """Return whether a tool is left out of the declarations for its arguments: a call by name reaches it."""
    return any(refused_arguments(each.parameters) for each in listed.tools)


def _server_schemas(server: str, listed: ToolList, servers: Iterable[str]) -> tuple[ToolSchema, ...]:
    """Return the declarations of a server, without names that belong to another: `mcp__a__b__x` belongs to `a__b`."""
    return tuple(each for each in declarations(server, listed.tools) if server_of(each.name, servers) == server)


def _on_demand(servers: Sequence[str], instructions: Mapping[str, str]) -> tuple[ToolSchema, ToolSchema]:
    names = ", ".join(sorted(servers))
    self_descriptions = "".join(
        f"\n{name} says of itself: {valid_unicode(instructions[name].strip())}"
        for name in sorted(instructions)
        if instructions[name]
    )
    find = ToolSchema(
        name=FIND,
        description=f"Find tools of these MCP servers: {names}. Returns their names, descriptions and parameters. "
        "Without a query, lists the names of all tools. Call a tool that was found with mcp_call."
        f"{valid_unicode(self_descriptions[:_LONGEST_SELF_DESCRIPTION])}",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words to look for in names and descriptions."},
                "server": {"type": "string", "description": "Only this server."},
            },
        },
    )
    call = ToolSchema(
        name=CALL,
        description=f"Call a tool of an MCP server, by the name that {FIND} returned.",
        parameters={
            "type": "object",
            "properties": {
                "tool": {"type": "string", "description": "The name, such as mcp__SERVER__TOOL."},
                "arguments": {"type": "object", "description": "The tool's own arguments."},
            },
            "required": ["tool"],
        },
    )
    return find, call


_READ = ToolSchema(
    name=READ,
    description="Read a resource of an MCP server by its URI. Without a URI, list the resources of the server. In a "
    "prompt, @SERVER:URI names one.",
    parameters={
        "type": "object",
        "properties": {
            "server": {"type": "string", "description": "The name of the server."},
            "uri": {"type": "string", "description": "The resource, as the server lists it."},
        },
        "required": ["server"],
    },
)


def next_schemas(declared: Sequence[ToolSchema], servers: Sequence[McpServer], lists: Lists) -> tuple[ToolSchema, ...]:
    """Return the tools that the next turn declares, in a session that now declares `declared`.

    A session that reaches servers on demand does so for its life: its three tools are constant. Of the other servers it
    declares what they are known to list now, as long as all is small enough; a server that is not known, or not
    configured any more, keeps what it had. The same lists give the same tools in the same order.
    """
    constant = tuple(each for each in declared if each.name in (FIND, CALL, READ))
    names = [each.name for each in servers]
    mine = {name: [each for each in declared if server_of(each.name, names) == name] for name in names}
    others = [each for each in declared if each not in constant and not server_of(each.name, names)]
    on_demand = any(each.name == FIND for each in constant)
    now = {
        name: (_server_schemas(name, listed, names), listed.resources)
        for name in names
        if (listed := lists.get(name)) is not None and (mine[name] or not on_demand)
    }
    always, reads = _always_declared(servers), False
    # What shrinks comes first, so that what grows finds its room, and finds the same room the next time.
    for name in sorted(now, key=lambda each: (declared_tokens(now[each][0]) - declared_tokens(mine[each]), each)):
        schemas, resources = now[name]
        total = len(others) + sum(len(mine[other]) for other in names if other != name)
        small = [other for other in names if other != name and other not in always]
        counted = [*others, *(each for other in small for each in mine[other])]
        if _fit(schemas, counted, total=total, always=name in always):
            mine[name] = list(schemas)
            reads = reads or resources
    known = (*others, *(each for name in names for each in mine[name]))
    more = (_READ,) if reads and not any(each.name == READ for each in constant) else ()
    return (*sorted(known, key=lambda each: each.name), *constant, *more)
