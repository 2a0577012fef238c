"""How the tools of MCP servers are declared to models: `mcp__SERVER__TOOL`, with a schema that every provider takes.

Two underscores separate the server from its tool, and the name of a server has none: so a name belongs to one server,
and a rule about a server covers no other.

Pure. The same list gives the same declarations in the same order, whatever order the server lists its tools in:
requests begin with them, and a provider's cache holds only for the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from holdfast.text import valid_unicode
from holdfast.tool_calls import ToolSchema
from holdfast.tools.truncation import cap

PREFIX = "mcp__"
LONGEST_TOOL_NAME = 64
"""The longest name of a tool that every provider accepts."""

LONGEST_SERVER = 40
"""The longest name of a server: room for the tool is left."""

LONGEST_DESCRIPTION = 4_000
"""Bytes of a tool's description that a model reads; the beginning and the end of a longer one."""

_HASHED_PREFIX = 55
_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_DROPPED = frozenset({"$schema", "$id", "title"})


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server lists it: `name` is the server's own, `reads` whether the server says that it only reads."""

    name: str
    description: str = ""
    parameters: dict[str, object] = msgspec.field(default_factory=dict[str, object])
    reads: bool = False


def server_name_fault(name: str) -> str:
    """Return why a server cannot have this name, as a part of a sentence, "" if it can."""
    if not name.strip() or len(name) > LONGEST_SERVER or not name.isprintable():
        return f"its name is not 1 to {LONGEST_SERVER} printable characters"
    if "__" in name or name.startswith("_") or name.endswith("_"):
        return (
            "its name has two underscores in a row, or one at an end, where the names of its tools would belong to "
            "another server"
        )
    return ""


def server_word(server: str) -> str:
    """Return the name of a server as it appears in the names of its tools, without two underscores in a row."""
    word = re.sub("__+", "_", _OTHER.sub("_", server)).strip("_")
    return word or f"server-{hashlib.sha256(server.encode('utf-8', 'replace')).hexdigest()[:8]}"


def server_prefix(server: str) -> str:
    """Return the prefix of the names of a server's tools."""
    return f"{PREFIX}{server_word(server)}__"


def model_name(server: str, tool: str) -> str:
    """Return the name under which a model calls a tool; one that is too long is cut and ends with a hash."""
    name = f"{server_prefix(server)}{_OTHER.sub('_', tool)}"
    return name if len(name) <= LONGEST_TOOL_NAME else _hashed(name, f"{server}\0{tool}")


def names_for_model(server: str, tools: Iterable[ListedTool]) -> Mapping[str, ListedTool]:
    """Return the tools of a server by the names under which models call them, sorted by the server's names.

    Two tools never share a name: of those that would, all but the first end with a hash.
    """
    named: dict[str, ListedTool] = {}
    for tool in sorted(tools, key=lambda each: each.name):
        name = model_name(server, tool.name)
        if name in named:
            name = _hashed(name, f"{server}\0{tool.name}")
        named.setdefault(name, tool)
    return named


def server_of(tool: str, servers: Iterable[str]) -> str:
    """Return which of the servers a declared tool belongs to, "" if none."""
    return next((each for each in servers if tool.startswith(server_prefix(each))), "")


def declarations(server: str, tools: Iterable[ListedTool]) -> tuple[ToolSchema, ...]:
    """Return the declarations of a server's tools."""
    return tuple(
        ToolSchema(
            name=name,
            description=cap(
                valid_unicode(tool.description or f"Tool {tool.name} of MCP server {server}."), LONGEST_DESCRIPTION
            ),
            parameters=object_schema(tool.parameters),
        )
        for name, tool in names_for_model(server, tools).items()
    )


def object_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the schema of a tool's arguments as an object schema, without fields about the schema itself."""
    fields = {name: value for name, value in schema.items() if name not in _DROPPED and name != "type"}
    properties = fields.pop("properties", None)
    return {"type": "object", "properties": properties if isinstance(properties, dict) else {}, **fields}


def declared_tokens(schemas: Sequence[ToolSchema]) -> int:
    """Return about how many tokens the declarations take."""
    return sum(len(msgspec.json.encode(each)) for each in schemas) // 4


def _hashed(name: str, of: str) -> str:
    return f"{name[:_HASHED_PREFIX]}_{hashlib.sha256(of.encode('utf-8', 'replace')).hexdigest()[:8]}"
