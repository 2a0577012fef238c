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
from typing import cast

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
    """Return the declarations of a server's tools, without those that a provider is known to refuse."""
    return tuple(
        ToolSchema(
            name=name,
            description=cap(
                valid_unicode(tool.description or f"Tool {tool.name} of MCP server {server}."), LONGEST_DESCRIPTION
            ),
            parameters=object_schema(tool.parameters),
        )
        for name, tool in names_for_model(server, tools).items()
        if not refused_arguments(tool.parameters)
    )


def refused_arguments(schema: Mapping[str, object]) -> list[str]:
    """Return the names of arguments with which Anthropic refuses a request; no other name can be sent for them."""
    return [name for name in _properties(schema) if not _ARGUMENT_NAME.fullmatch(name)]


_ARGUMENT_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_CHOICES = ("anyOf", "oneOf", "allOf")
_DATA = frozenset({"const", "default", "enum", "examples"})
_DEEPEST = 64


def object_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the schema of a tool's arguments as an object schema that no provider is known to refuse.

    It never demands more than the server's. OpenAI and Anthropic refuse choices at the top, so all their properties
    stand beside each other; OpenAI refuses an array without `items`; references that lead nowhere are refused by all,
    Gemini refuses a required property without a schema. The server checks the arguments by its own schema.
    """
    fields = {name: value for name, value in schema.items() if name not in _DROPPED and name not in _NOT_AT_TOP}
    properties = _properties(schema)
    if "required" in fields:
        required = fields.pop("required")
        names = cast("list[object]", required) if isinstance(required, list) else []
        fields["required"] = [name for name in names if name in properties]
    written = {"type": "object", "properties": properties, **fields}
    return cast("dict[str, object]", _accepted(written, written, _DEEPEST))


_NOT_AT_TOP = frozenset({"type", "properties", "enum", "const", "not", *_CHOICES})


def _properties(schema: Mapping[str, object]) -> dict[str, object]:
    """Return the properties of a schema and of the choices at its top."""
    found = _mapping(schema.get("properties"))
    for choice in _CHOICES:
        branches = schema.get(choice)
        for branch in cast("list[object]", branches) if isinstance(branches, list) else ():
            found = {**_mapping(_mapping(branch).get("properties")), **found}
    return found


def _mapping(value: object) -> dict[str, object]:
    return dict(cast("dict[str, object]", value)) if isinstance(value, dict) else {}


def _accepted(schema: object, root: Mapping[str, object], depth: int) -> object:
    """Return a part of the schema `root` as every provider accepts it."""
    if depth == 0:
        return {}
    if isinstance(schema, list):
        return [_accepted(each, root, depth - 1) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    fields = cast("dict[str, object]", schema)
    written = {
        name: value if name in _DATA else _accepted(value, root, depth - 1)
        for name, value in fields.items()
        if name != "$ref" or not isinstance(value, str) or _is_there(value, root)
    }
    kind = written.get("type")
    if (kind == "array" or (isinstance(kind, list) and "array" in kind)) and "items" not in written:
        written["items"] = {}
    return written


def _is_there(reference: str, root: Mapping[str, object]) -> bool:
    """Return whether a reference leads to a part of the schema."""
    found: object = root
    for step in reference.removeprefix("#").split("/")[1:]:
        found = _mapping(found).get(step.replace("~1", "/").replace("~0", "~"))
    return reference.startswith("#") and isinstance(found, dict | bool)


def declared_tokens(schemas: Sequence[ToolSchema]) -> int:
    """Return about how many tokens the declarations take."""
    return sum(len(msgspec.json.encode(each)) for each in schemas) // 4


def _hashed(name: str, of: str) -> str:
    return f"{name[:_HASHED_PREFIX]}_{hashlib.sha256(of.encode('utf-8', 'replace')).hexdigest()[:8]}"
