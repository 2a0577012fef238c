"""A server whose tools have odd schemas: the real program declares those that its provider accepts."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from launching import World

from holdfast.testing.script import Call, Say

TEXT = {"type": "string"}
TOOLS: dict[str, Any] = {
    "choice": {"type": "object", "anyOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]},
    "no_items": {"type": "object", "properties": {"a": {"type": "array"}}},
    "nowhere": {"type": "object", "properties": {"a": {"$ref": "#/definitions/Missing"}}},
    "odd_name": {"type": "object", "properties": {"@type": TEXT}},
    "no_type": {"properties": {"a": TEXT}},
}
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    match asked["method"]:
        case "initialize":
            result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            answer["result"] = {**result, "serverInfo": {"name": "odd", "version": "1"}}
        case "tools/list":
            tools = json.loads(sys.argv[1])
            answer["result"] = {"tools": [{"name": name, "inputSchema": each} for name, each in tools.items()]}
        case "tools/call":
            answer["result"] = {"content": [{"type": "text", "text": json.dumps(asked["params"]["arguments"])}]}
        case _:
            answer["error"] = {"code": -32601, "message": "no"}
    print(json.dumps(answer), flush=True)
"""


def test_odd_schemas_are_declared_as_providers_accept_them(one_world: World, tmp_path: Path) -> None:
    world = one_world
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    entry = {"command": sys.executable, "args": [str(program), json.dumps(TOOLS)]}
    (world.home / "mcp.json").write_text(json.dumps({"mcpServers": {"odd": entry}}))
    call = Call("mcp_call", {"tool": "mcp__odd__odd_name", "arguments": {"@type": "reached"}})
    world.script([Call("mcp_find", {"query": "odd_name"})], [call], [Say("Done.")])
    ran = world.ask("go")
    assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
    body = json.dumps(world.provider.requests[0].body)
    for name in ("choice", "no_items", "nowhere"):
        assert f"mcp__odd__{name}" in body
    assert "mcp_call" in body
    for refused in ("mcp__odd__odd_name", "@type", "anyOf", "#/definitions/Missing", "mcp__odd__no_type"):
        assert refused not in body
    last = json.dumps(world.provider.requests[-1].body)
    assert "mcp__odd__no_type" not in last
    assert "no_type cannot be used" in last
    assert "reached" in last
    world.verify()
