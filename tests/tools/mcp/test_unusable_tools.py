"""A list of tools of which some cannot be used: the others can, and it is said which are left out, and why."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from test_connections import connected, context

from holdfast.tools.mcp.sdk.traffic import LARGEST_TOOL, MOST_TOOLS
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.server_tools import mcp_tools
from holdfast.tools.mcp.stored_tools import ToolList
from holdfast.tools.mcp.tool_declarations import session_schemas

PROGRAM = """
import json, sys
with open(sys.argv[1]) as file:
    tools = json.load(file)
if len(sys.argv) > 2:
    tools = [dict(tools[0], name=f"t{n}") for n in range(int(sys.argv[2]))]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    done = {"content": [{"type": "text", "text": "ok"}]}
    known = {"initialize": info, "tools/list": {"tools": tools}, "tools/call": done}
    result = known.get(asked["method"])
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "no"}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
GOOD = {"name": "good", "inputSchema": {"type": "object"}}


async def listed(folder: Path, tools: object, *more: str) -> ToolList:
    file = folder / "tools.json"
    file.write_text(json.dumps(tools))
    server = McpServer(name="srv", command=sys.executable, args=("-c", PROGRAM, str(file), *more))
    async with connected(server, folder) as connections:
        found = await connections.listed("srv", asyncio.Event())
        names = session_schemas([server], {"srv": None})
        plan = mcp_tools(names, connections)["mcp_find"].plan("c", "{}")
        text = (await plan.run(context())).text
        for each in found.unusable[:20]:
            assert f"{each.name} cannot be used: {each.why}" in text
        if found.tools:
            assert (await connections.call("srv", f"mcp__srv__{found.tools[0].name}", {}, context())).text == "ok"
        return found


async def test_tools_are_taken_one_at_a_time(tmp_path: Path) -> None:
    tools: list[object] = [
        GOOD,
        {"name": "no_type", "inputSchema": {"properties": {}}},
        {"name": "empty", "inputSchema": {}},
        {"name": "text", "inputSchema": "object"},
        {"name": 5, "inputSchema": {"type": "object"}},
        "hello",
        {"name": "large", "description": "x" * LARGEST_TOOL, "inputSchema": {"type": "object"}},
        {"name": "also", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    ]
    found = await listed(tmp_path, tools)
    assert [(each.name, each.reads) for each in found.tools] == [("also", True), ("good", False)]
    reasons = {each.name: each.why for each in found.unusable}
    assert [each.name for each in found.unusable] == ["no_type", "empty", "text", "(no name)", "(no name)", "large"]
    assert reasons["no_type"] == reasons["empty"] == "`inputSchema.type`: Field required"
    assert reasons["large"] == "its declaration has more than 256 KB"


async def test_a_list_of_more_tools_than_can_be_used_is_cut(tmp_path: Path) -> None:
    found = await listed(tmp_path, [GOOD], str(MOST_TOOLS + 50))
    assert len(found.tools) == MOST_TOOLS
    assert {each.why for each in found.unusable} == {f"the server lists more than {MOST_TOOLS} tools"}


async def test_a_server_without_a_tool_that_can_be_used_is_connected(tmp_path: Path) -> None:
    found = await listed(tmp_path, [{"name": "x"}])
    assert found.tools == ()
    assert [each.name for each in found.unusable] == ["x"]
