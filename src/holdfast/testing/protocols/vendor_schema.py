"""The fields of a request as the types of a vendor's own SDK declare them: names, types, and which are required.

The scripted provider refuses what contradicts the vendor's declarations, not what holdfast believes to be wrong. The
declarations are JSON Schemas in `schemas`, which `tests/sdk_schemas.py` writes from the SDKs. They are committed as
data, because this package is used without any SDK. An object has no fields but those declared.

If a place allows several kinds, the `type` of an object, or else its `role`, selects the kind. So a block
`{"type": "image", "source": 5}` is a wrong image, and not a text without its text.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from holdfast.testing.protocols.strict_json import is_json_array, is_json_object

_TYPES: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
_CAPITAL = re.compile("[A-Z]")
_URL_SAFE = str.maketrans("-_", "+/")


class KindStep(str):
    """A step of a path into one of several kinds of objects: the name of the kind."""

    __slots__ = ()


_Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFault:
    """The first place where a value differs from its schema.

    `expected` are types (of a `type`), values (of a `value`) or what the field `type` may say (of a `kind`).
    """

    path: _Path
    problem: Literal["missing", "unknown", "type", "value", "kind", "base64"]
    expected: tuple[str, ...] = ()
    value: object = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Option:
    """One alternative for a place: its JSON types, its only values, its fields, its items.

    `fields` is None for an object that may hold anything. A place without alternatives takes anything.
    """

    types: tuple[str, ...]
    values: tuple[object, ...] | None
    base64: bool
    fields: Mapping[str, _Place] | None
    required: tuple[str, ...]
    items: _Place


_Place = tuple[_Option, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kinds:
    """The objects allowed in a place, and by name those that the field `by` distinguishes.

    `by` is "" where there is only one, or they have no names.
    """

    options: _Place
    by: str
    named: Mapping[str, _Place]


@cache
def _kinds(place: _Place) -> _Kinds:
    options = tuple(each for each in place if each.fields is not None)
    by = "type" if any("type" in (each.fields or ()) for each in options) else "role"
    named: dict[str, _Place] = {}
    for option in options:
        for word in (word for each in (option.fields or {}).get(by, ()) for word in each.values or ()):
            named[str(word)] = (*named.get(str(word), ()), option)
    return _Kinds(options=options, by=by if named and len(options) > 1 else "", named=named)


@dataclass(frozen=True, slots=True)
class VendorSchema:
    """The declared objects of a wire, by name.

    With `nulls`, a null counts as a missing field. With `protobuf`, too; names may be in camel case, a
    list of one item may be the item, and an enumeration may be a number.
    """

    wire: str
    nulls: bool = False
    protobuf: bool = False

    def fault(self, value: object, name: str) -> SchemaFault | None:
        """Return the first difference from the named declaration, None if there is none."""
        return self._fault(value, _load(self.wire)[name], ())

    def snake(self, name: str) -> str:
        """Return the name of a field as it is declared."""
        return _CAPITAL.sub(lambda letter: f"_{letter[0].lower()}", name) if self.protobuf else name

    def _fault(self, value: object, place: _Place, path: _Path) -> SchemaFault | None:
        if not place:
            return None
        if self.protobuf and is_json_object(value) and any("array" in each.types for each in place):
            value = [value]
        options = [each for each in place if self._is_of_type(value, each)]
        if not options:
            types = tuple(dict.fromkeys(type_ for each in place for type_ in each.types))
            return SchemaFault(path=path, problem="type", expected=types, value=value)
        if is_json_object(value):
            return None if any(each.fields is None for each in options) else self._object_fault(value, place, path)
        if is_json_array(value):
            each = (self._fault(item, options[0].items, (*path, i)) for i, item in enumerate(value))
            return next((found for found in each if found), None)
        return self._scalar_fault(value, options, path)

    def _is_of_type(self, value: object, option: _Option) -> bool:
        is_of = _TYPES[type(value)]
        also = is_of == "integer" and ("number" in option.types or (self.protobuf and option.values is not None))
        return also or is_of in option.types

    def _object_fault(self, value: dict[str, object], place: _Place, path: _Path) -> SchemaFault | None:
        kinds = _kinds(place)
        options = kinds.options
        if kinds.by and kinds.by in value:
            word = value[kinds.by]
            options = kinds.named.get(word, ()) if isinstance(word, str) else ()
            if not options and kinds.by == "type":
                return SchemaFault(path=path, problem="kind", expected=tuple(kinds.named), value=word)
            if not options:
                return SchemaFault(path=(*path, kinds.by), problem="value", expected=tuple(kinds.named), value=word)
            path = (*path, KindStep(word)) if kinds.by == "type" else path
        elif kinds.by:
            options = tuple(each for each in options if kinds.by not in each.required)
            if not options:
                return SchemaFault(path=(*path, kinds.by), problem="missing")
        found = [self._fields_fault(value, each, path) for each in options]
        return None if None in found else max(found, key=lambda fault: len(fault.path) if fault else 0)

    def _fields_fault(self, value: dict[str, object], option: _Option, path: _Path) -> SchemaFault | None:
        declared = option.fields or {}
        names = {self.snake(key): key for key in value}
        present_keys = {
            name: key for name, key in names.items() if value[key] is not None or not (self.nulls or self.protobuf)
        }
        for name in option.required:
            if name not in present_keys and not (
                name in names and any("null" in each.types for each in declared[name])
            ):
                return SchemaFault(path=(*path, name), problem="missing")
        for name, key in names.items():
            if name not in declared:
                return SchemaFault(path=(*path, key), problem="unknown")
        each = (
            self._fault(value[present_keys[name]], place, (*path, name))
            for name, place in declared.items()
            if name in present_keys
        )
        return next((found for found in each if found), None)

    def _scalar_fault(self, value: object, options: Sequence[_Option], path: _Path) -> SchemaFault | None:
        allowed = [each.values for each in options]
        number = self.protobuf and isinstance(value, int)
        if not number and all(values is not None and value not in values for values in allowed):
            expected = tuple(str(each) for values in allowed for each in values or ())
            return SchemaFault(path=path, problem="value", expected=expected, value=value)
        if isinstance(value, str) and any(each.base64 for each in options):
            try:
                base64.b64decode(value.translate(_URL_SAFE) + "=" * (-len(value) % 4), validate=True)
            except binascii.Error:
                return SchemaFault(path=path, problem="base64", value=value)
        return None


@cache
def _load(wire: str) -> Mapping[str, _Place]:
    file = files("holdfast.testing.protocols").joinpath(f"schemas/{wire}.json")
    known: dict[str, Any] = json.loads(file.read_text("utf-8"))

    @cache
    def named(name: str) -> _Place:
        return tuple(read(known[name]))

    def read(schema: dict[str, Any]) -> Iterator[_Option]:
        """Yield the alternatives of a schema, none if it takes anything."""
        if "$ref" in schema:
            yield from named(schema["$ref"])
        for each in schema.get("anyOf", ()):
            yield from read(each)
        if "type" in schema:
            types: list[str] | str = schema["type"]
            values: Sequence[object] | None = [schema["const"]] if "const" in schema else schema.get("enum")
            fields: dict[str, Any] | None = schema.get("properties")
            yield _Option(
                types=tuple(types) if isinstance(types, list) else (types,),
                values=None if values is None else tuple(values),
                base64=schema.get("format") == "base64url",
                fields=None if fields is None else {key: tuple(read(each)) for key, each in fields.items()},
                required=tuple(schema.get("required", ())),
                items=tuple(read(schema.get("items", {}))),
            )

    return {name: named(name) for name in known}


_PYDANTIC = {
    "boolean": "boolean",
    "integer": "integer",
    "number": "number",
    "string": "string",
    "array": "list",
    "object": "dictionary",
}


def pydantic_words(fault: SchemaFault) -> str:
    """Return what pydantic says of a fault: the services of Anthropic and Mistral check with it."""
    match fault.problem:
        case "missing":
            return "Field required"
        case "unknown":
            return "Extra inputs are not permitted"
        case "kind":
            listed = ", ".join(f"'{each}'" for each in fault.expected)
            return f"Input tag '{fault.value}' found using 'type' does not match any of the expected tags: {listed}"
        case "value":
            *most, last = (f"'{each}'" for each in fault.expected)
            return f"Input should be {', '.join(most)}{' or ' if most else ''}{last}"
        case "type" | "base64":
            types = [_PYDANTIC[each] for each in fault.expected if each in _PYDANTIC]
            return f"Input should be a valid {types[-1] if types else 'string'}"
