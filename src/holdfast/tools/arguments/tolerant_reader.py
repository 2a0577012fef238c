"""Reads the arguments of a call as the model meant them, and reports how they were read.

How it works. The schema that the model was given leads: each of its fields is looked up by its name, then by the names
that models were trained on (`name_aliases`). A value of another type is converted where only one reading is possible:
"12" where a number belongs, a list of one where text belongs, JSON written into a string. A field that the schema does
not have is left out and named in the result; if leaving it out would change what the call does, the call is refused.
Every step is one pass over the value, no deeper than the schema.

Why not refuse, as the schema says? A refused call costs a request, and weak models repeat it. Why not a looser schema?
Models follow the schema mostly, and a strict one lets providers constrain what they write.

Example: `{"file_path": "a.py", "limit": "20"}` for `read` becomes `{"path": "a.py", "limit": 20}`, and the result ends
with `[Arguments: "file_path" was read as "path".]`. A converted type is not reported.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import cast

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import ToolSchema
from holdfast.tools.arguments.name_aliases import (
    FIELD_NAMES,
    HARMLESS,
    LABELS,
    MEANINGFUL_FIELDS,
    MILLISECONDS,
    OPPOSITES,
    VALUES,
    folded_name,
)
from holdfast.tools.arguments.question_list import without_list
from holdfast.tools.arguments.search_replace import with_edits

_SURELY_MS = 10_000
"""From here on a number of seconds that is too large is taken for milliseconds."""

_WRAPPERS = frozenset({"arguments", "parameters", "input", "args", "params", "tool_input", "kwargs"})
_CALL_FIELDS = frozenset({"name", "tool", "tool_name", "function", "type", "id"})
"""Fields next to the arguments, if the model wrote a complete call in their place."""

_NUMBER = re.compile(r"\s*[+-]?\d{1,15}(?:\.\d{1,15})?\s*")
_INDEX = re.compile(r"\[\d+\]")
_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
_TRUE, _FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0", ""})
_MOST_NOTES = 8
_LARGEST_PYTHON = 100_000
_NOTHING: Mapping[str, str] = {}


class ArgumentReading(msgspec.Struct, frozen=True):
    """Arguments as JSON for a tool's strict parser, and notes on how they were read."""

    raw: str
    notes: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Return the notes as one line for the model, "" if there are none."""
        more = [f"and {len(self.notes) - _MOST_NOTES} more"] if len(self.notes) > _MOST_NOTES else []
        return f"[Arguments: {'; '.join([*self.notes[:_MOST_NOTES], *more])}.]" if self.notes else ""


def read_arguments(raw: str, schema: ToolSchema, *, defaults: Mapping[str, str] = _NOTHING) -> ArgumentReading:
    """Return the arguments in the form of the schema; unreadable arguments are returned unchanged.

    `defaults` are values of fields that the tool which the model named does not have: used if they are missing.
    Raises `ToolFailed` if a field that the tool does not have would change what the call does.
    """
    reading = _Reading(schema.name)
    try:
        value = reading.parse(raw, schema.parameters)
        if not isinstance(value, dict):
            return ArgumentReading(raw)
        if schema.name == "ask_user":
            value, original = without_list(cast("dict[str, object]", value)), cast("dict[str, object]", value)
            reading.repaired |= value is not original
        if schema.name == "edit":
            value, field = with_edits(cast("dict[str, object]", value))
            if field:
                reading.repaired = True
                reading.notes[f"the SEARCH and REPLACE blocks in {field!r} were read as 'edits'"] = None
        fitted = reading.fit_fields(cast("dict[str, object]", value), schema.parameters, place=schema.name, at="")
        for name, text in defaults.items():
            if name not in fitted:
                fitted[name] = text
                reading.notes[f"{name!r} is {text!r}"] = None
        same = not reading.repaired and msgspec.json.encode(fitted) == msgspec.json.encode(value)  # 2.0 is not 2
        return ArgumentReading(raw if same else msgspec.json.encode(fitted).decode(), tuple(reading.notes))
    except (RecursionError, UnicodeEncodeError, OverflowError):  # the strict parser says what is wrong
        return ArgumentReading(raw)


class _Reading:
    """One call's arguments while they are read."""

    def __init__(self, tool: str) -> None:
        self.notes: dict[str, None] = {}
        self.repaired = False  # the text was not the JSON object that is passed on
        self._tool = tool

    def _add_note(self, note: str) -> None:
        note = _INDEX.sub("[]", note)  # once for a list
        self.notes[note] = None

    def parse(self, raw: str, schema: Mapping[str, object]) -> object:
        """Return the arguments as a JSON value; one that is wrapped, fenced or bare is unwrapped first."""
        value = _decoded(raw or "{}")
        if value is None and (fenced := _FENCE.fullmatch(raw)):
            value, self.repaired = _decoded(fenced[1]), True
        if value is None:
            value, self.repaired = _with_raw_line_ends(raw), True
        if value is None and raw.lstrip()[:1] == "{" and (value := _as_python(raw)) is not None:
            self._add_note("they were read as Python, not JSON")
        if isinstance(value, str):
            inner, self.repaired = _decoded(value), True
            value = cast("object", inner) if isinstance(inner, dict | list) else value
        if isinstance(value, dict):
            return self._unwrapped(cast("dict[str, object]", value), _properties(schema))
        only = _only(schema, "array" if isinstance(value, list) else "string")
        if only is None:
            return cast("object", value)
        if value is None and raw.lstrip()[:1] not in ("{", "[", '"', ""):  # text, not the beginning of JSON
            value = raw
        if isinstance(value, str | list):
            self.repaired = True
            self._add_note(f"all of it was read as {only!r}")
            return cast("object", {only: value})
        return None

    def _unwrapped(self, value: dict[str, object], fields: Mapping[str, object]) -> object:
        around = [name for name in value if folded_name(name) not in _CALL_FIELDS or name in fields]
        if len(around) == 1:
            name, inner = around[0], value[around[0]]
            inner = _decoded(inner) if isinstance(inner, str) else inner
            if name not in fields and folded_name(name) in _WRAPPERS and isinstance(inner, dict):
                self.repaired = True
                self._add_note(f"{name!r} around them was left out")
                return cast("object", inner)
        return value

    def fit_fields(
        self, value: dict[str, object], schema: Mapping[str, object], *, place: str, at: str
    ) -> dict[str, object]:
        """Return the object with the fields of its schema. `place` is its row in FIELD_NAMES, `at` its path so far."""
        fields = _properties(schema)
        required = cast("list[str]", schema.get("required", []))
        found: dict[str, object] = {}
        for name, field_value in value.items():
            if name in fields:
                self._put(found, name, field_value, _Field(fields[name], place, at, name in required))
        for name, field_value in value.items():
            if name not in fields:
                self._put_unknown(found, name, field_value, place=place, at=at, fields=fields, required=required)
        return found

    def _put_unknown(  # noqa: PLR0913 - one field and where it stands
        self,
        found: dict[str, object],
        name: str,
        value: object,
        *,
        place: str,
        at: str,
        fields: Mapping[str, Mapping[str, object]],
        required: list[str],
    ) -> None:
        """Put the value of an unknown field under the name it stands for, or leave it out and say so."""
        folded = folded_name(name)
        field = folded if folded in fields else FIELD_NAMES.get(place, {}).get(folded, "")
        if field in fields:
            if field in found:
                if found[field] != value:
                    self._add_note(f"{at + name!r} was ignored because {at + field!r} was given")
                return
            if folded in OPPOSITES:
                value = not _boolean(value)
            self._put(found, field, value, _Field(fields[field], place, at, field in required, folded in MILLISECONDS))
            if field in found:
                self._add_note(f"{at + name!r} was read as {at + field!r}")
            return
        if self._put_line_range(found, folded, value, fields=fields):
            return
        empty = value in (None, False, "", 0) or value in ([], {})
        if folded in LABELS or empty:
            return
        harmless = isinstance(value, str | int) and value in HARMLESS.get(folded, ())
        if folded in MEANINGFUL_FIELDS.get(place, ()) and not harmless:
            has = ", ".join(fields)
            raise ToolFailed(
                f"Argument {name!r} of {self._tool!r} is not supported, and the call would change without it. "
                f"Its fields are: {has}. Nothing was done; call it again without {name!r}."
            )
        self._add_note(f"{at + name!r} is unknown and was ignored")

    def _put_line_range(
        self, found: dict[str, object], folded: str, value: object, *, fields: Mapping[str, Mapping[str, object]]
    ) -> bool:
        """Read a range of lines as `offset` and `limit`; return whether `folded` names one."""
        if self._tool != "read" or not {"offset", "limit"} <= set(fields):
            return False
        value = _decoded(value) if isinstance(value, str) else value
        start, end = found.get("offset", 1), value
        if folded in ("view_range", "line_range", "lines_range", "range") and isinstance(value, list):
            bounds = cast("list[object]", value)
            if len(bounds) != 2:  # noqa: PLR2004 - the first and the last line
                return False
            start, end = bounds
        elif folded not in ("end_line", "line_end", "end", "to_line"):
            return False
        if not isinstance(start, int) or not isinstance(end, int):
            return False
        found["offset"] = max(1, start)
        if end >= max(1, start):  # -1 is the end of the file
            found["limit"] = end - max(1, start) + 1
        self._add_note(f"{folded!r} was read as 'offset' and 'limit'")
        return True

    def _put(self, found: dict[str, object], name: str, value: object, field: _Field) -> None:
        """Put a value under `name`, unless it means that the field is missing."""
        schema = field.schema
        if not field.required and ("default" not in schema or value != schema["default"]):
            if value is None or (value == "" and _type_of(schema) == "string" and "default" in schema):
                return
            if isinstance(value, str) and not value.strip() and _type_of(schema) in ("array", "integer", "number"):
                return
        found[name] = self._value(value, name, field)

    def _value(self, value: object, name: str, field: _Field) -> object:
        schema, converted = field.schema, value
        match _type_of(schema):
            case "string":
                converted = self._text(value)
            case "integer" | "number" as kind:
                converted = self._number(value, kind, name, field)
            case "boolean":
                read = _boolean(value)
                converted = value if read is None else read
            case "array":
                converted = self._list(value, name, field)
            case "enum":
                converted = self._choice(value, cast("list[object]", schema["enum"]))
            case "object":
                converted = _decoded(value) if isinstance(value, str) and _decoded(value) is not None else value
                if isinstance(converted, dict):
                    inner = cast("dict[str, object]", converted)
                    converted = self.fit_fields(inner, schema, place=f"{field.place}.{name}", at=f"{field.at}{name}.")
            case _:
                pass
        return converted

    def _text(self, value: object) -> object:
        text = value
        if self._tool == "bash" and isinstance(value, str) and value.startswith('["'):
            value = _decoded(value)
        match value:
            case int() if not isinstance(value, bool):
                text = str(value)
            case list():
                pieces = cast("list[object]", value)
                words = [piece for piece in pieces if isinstance(piece, str)]
                if words and len(words) == len(pieces):
                    if self._tool == "bash" and len(words) > 1:
                        text = self._words(words)
                    elif len(words) == 1 or self._tool == "apply_patch":
                        text = words[-1]
            case _:
                pass
        return text

    def _words(self, words: list[str]) -> str:
        """Return a command given as a list of words, without the shell that it names itself."""
        shell = words[0].rpartition("/")[2]
        if len(words) == 3 and shell in ("bash", "sh", "zsh") and words[1] in ("-c", "-lc", "-l", "-ic"):  # noqa: PLR2004 - shell, flag, command
            return words[2]
        self._add_note("a list of words was joined to one command")
        return shlex.join(words)

    def _number(self, value: object, kind: str, name: str, field: _Field) -> object:
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = float(value) if "." in value else int(value)
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e15:  # noqa: PLR0124, PLR2004 - NaN; beyond this, it is not a number of anything
            return value
        smallest, largest = field.schema.get("minimum"), field.schema.get("maximum")
        shown = f"{field.at + name!r}"
        if name == "timeout" and isinstance(largest, int | float):
            if field.milliseconds or (value > largest and value >= _SURELY_MS):
                self._add_note(f"{shown} {value:g} was read as milliseconds: {value / 1000:g} s")
                value = value / 1000
            if 0 < value < 1:
                value = 1
        if isinstance(largest, int | float) and value > largest:
            self._add_note(f"{shown} {value:g} is above its limit, {largest:g} was used")
            value = largest
        if value == 0 and smallest == 1:
            value = 1
        return int(value) if kind == "integer" and value == int(value) else value

    def _list(self, value: object, name: str, field: _Field) -> object:
        if isinstance(value, str):
            inner = _decoded(value)
            value = cast("object", inner) if isinstance(inner, list | dict) else value
        item = cast("Mapping[str, object]", field.schema.get("items", {}))
        if isinstance(value, dict) or (isinstance(value, str) and value and _type_of(item) == "string"):
            value = [cast("object", value)]
        if not isinstance(value, list):
            return value
        return [self._item(each, f"{name}[{i}]", field, item) for i, each in enumerate(cast("list[object]", value))]

    def _item(self, value: object, name: str, field: _Field, schema: Mapping[str, object]) -> object:
        if _type_of(schema) != "object":
            return self._value(value, name, _Field(schema, field.place, field.at, required=True))
        if isinstance(value, str):
            inner, only = _decoded(value), _only(schema, "string")
            value = cast("object", inner) if isinstance(inner, dict) else {only: value} if only else value
        if not isinstance(value, dict):
            return value
        inside = f"{field.place}.{name.partition('[')[0]}"
        return self.fit_fields(cast("dict[str, object]", value), schema, place=inside, at=f"{field.at}{name}.")

    def _choice(self, value: object, allowed: list[object]) -> object:
        if not isinstance(value, str) or value in allowed:
            return value
        folded = folded_name(value)
        return folded if folded in allowed else VALUES[folded] if VALUES.get(folded) in allowed else value


class _Field(msgspec.Struct, frozen=True):
    """A field of the schema, and its place."""

    schema: Mapping[str, object]
    place: str
    at: str
    required: bool = False
    milliseconds: bool = False


def _properties(schema: Mapping[str, object]) -> Mapping[str, Mapping[str, object]]:
    return cast("Mapping[str, Mapping[str, object]]", schema.get("properties", {}))


def _type_of(schema: Mapping[str, object]) -> str:
    if "enum" in schema:
        return "enum"
    kind = schema.get("type", "")
    return kind if isinstance(kind, str) else ""


def _only(schema: Mapping[str, object], kind: str) -> str | None:
    """Return the only required field if it has this type, else None."""
    match schema.get("required"):
        case [str(name)] if _type_of(_properties(schema)[name]) == kind:
            return name
        case _:
            return None


def _decoded(text: str) -> object:
    """Return the value of a JSON text, None if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None


def _as_python(raw: str) -> object:
    """Return an object with single quotes, `True` or `None`, as Python writes it; None if it is not one."""
    import ast

    try:
        value = cast("object", ast.literal_eval(raw.strip())) if len(raw) <= _LARGEST_PYTHON else None
        return cast("object", json.loads(json.dumps(value))) if isinstance(value, dict) else None
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):  # bytes and sets are no JSON
        return None


def _with_raw_line_ends(text: str) -> object:
    """Return the JSON value of a text whose strings contain unescaped line ends or tabs, None if it is not one."""
    if "\n" not in text and "\t" not in text:
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _boolean(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower() if isinstance(value, str | int) else "?"
    return True if text in _TRUE else False if text in _FALSE else None
