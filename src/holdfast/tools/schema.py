"""Parses tool arguments: one frozen struct is both the JSON schema for the model and the check of its input."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import TypeVar, cast

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import ToolSchema
from holdfast.typed_data import json_decoder

A = TypeVar("A", bound=msgspec.Struct)


def schema_of(name: str, description: str, arguments: type[msgspec.Struct]) -> ToolSchema:
    """Return the tool's declaration. `arguments` must forbid unknown fields, so that a typo is not ignored.

    Nested structs are written inline: not every provider resolves references.
    """
    (_,), components = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    parameters = {name: _inlined(value, components) for name, value in components[arguments.__name__].items()}
    parameters.pop("title", None)
    parameters.pop("description", None)
    parameters.setdefault("required", [])
    return ToolSchema(name=name, description=description, parameters=parameters)


_WRITTEN = frozenset({"type", "description", "properties", "required", "items", "enum", "anyOf"})
"""The words of a schema that tell a model something. Bounds are checked when a call arrives, and named then."""


def as_declared(schema: ToolSchema, *, only: Collection[str] | None = None, required: Sequence[str] = ()) -> ToolSchema:
    """Return a tool's declaration in fewer tokens: without titles, defaults and bounds, with `only` these arguments.

    `required` replaces the arguments that a call must have, if there are any.
    """
    properties = cast("dict[str, object]", schema.parameters["properties"])
    declared = {name: _shortened(value) for name, value in properties.items() if only is None or name in only}
    parameters: dict[str, object] = {
        "type": "object",
        "properties": declared,
        "required": list(required) or schema.parameters["required"],
    }
    return msgspec.structs.replace(schema, parameters=parameters)


def _shortened(schema: object) -> object:
    if not isinstance(schema, dict):
        return schema
    words = _words(cast("dict[str, object]", schema))
    if "properties" in words:
        words.pop("description", None)  # of the struct, for those who read the code
        inner = cast("dict[str, object]", words["properties"])
        return words | {"properties": {name: _shortened(value) for name, value in inner.items()}}
    return words | {"items": _shortened(words["items"])} if "items" in words else words


def _words(schema: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in schema.items() if name in _WRITTEN and value not in ("", [])}


def _inlined(schema: object, components: Mapping[str, object]) -> object:
    match schema:
        case {"$ref": str(reference)}:
            return _inlined(components[reference.rpartition("/")[2]], components)
        case dict():
            return {name: _inlined(value, components) for name, value in cast("dict[str, object]", schema).items()}
        case list():
            return [_inlined(value, components) for value in cast("list[object]", schema)]
        case _:
            return schema


def parse_arguments(raw: str, arguments: type[A], *, tool: str) -> A:
    """Return the parsed arguments; raises `ToolFailed` naming the field, its value and the expected one.

    An empty string counts as `{}`: several providers send it for a call without arguments.
    """
    try:
        return _decoder(arguments).decode(raw or "{}")
    except msgspec.ValidationError as error:
        raise ToolFailed(
            f"Arguments of {tool!r} do not fit its schema: {_located(error, arguments)} "
            "Nothing was done; call it again with arguments that fit."
        ) from error
    except msgspec.DecodeError as error:
        raise ToolFailed(
            f"Arguments of {tool!r} are not valid JSON: {error} (expected one JSON object). "
            "Nothing was done; call it again."
        ) from error


@cache
def _decoder(arguments: type[A]) -> msgspec.json.Decoder[A]:
    return json_decoder(arguments)


_PLACE = re.compile(r"(?P<what>.*) - at `\$(?P<path>[^`]*)`", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[\d*\]|\[\.\.\.\]")


def _located(error: msgspec.ValidationError, arguments: type[msgspec.Struct]) -> str:
    """Return the message with the place of the mistake (`items[2].state: …`) and the fields allowed there."""
    found = _PLACE.fullmatch(str(error))
    what, path = (found["what"], found["path"]) if found else (str(error), "")
    schema = schema_of("", "", arguments).parameters
    owner, named = schema, ""  # the innermost object on the way, and its place
    for step in _STEP.finditer(path):
        inside = cast("dict[str, dict[str, object]]", schema.get("properties", {})).get(step[1] or "")
        schema = inside or cast("dict[str, object]", schema.get("items", {}))
        if "properties" in schema:
            owner, named = schema, path[: step.end()].lstrip(".")
    if isinstance(values := schema.get("enum"), list):
        what += f" (expected one of {', '.join(map(repr, cast('list[object]', values)))})"
    place = path.lstrip(".")
    fields = ", ".join(cast("dict[str, object]", owner["properties"]))
    return (
        f"{f'{place}: ' if place else ''}{what}. {f'The fields of {named}' if named else 'Its fields'} are: {fields}."
    )
