"""Says what is wrong with a setting: the line, its name, what it is and what it may be. Pure.

The decoder reports a path such as `$.providers[...].kind` and a type. A user has a file with lines: so the path is
followed in what was read, and what is allowed comes from the type at its end.

Example: `permission_mode = "Yolo"` on line 3 is
`config.toml:3: permission_mode is "Yolo" (expected "accept-edits", "ask", "plan" or "yolo")`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

import msgspec
from msgspec import inspect

from holdfast.config.setting_lines import line_of, setting_lines
from holdfast.typed_data import convert_value

_AT = re.compile(r" - at `([^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|(\[[^\]]*\])")
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_WRONG = re.compile(r"^(?:Expected |Invalid enum value |Invalid value )")
_LONGEST_VALUE = 60
_WITHOUT_VALUE = ("headers", "env", "extra_body", "api_key_env", "base_url", "url")
"""Settings whose values may be secret, and are not repeated."""

_Table = dict[str, object]


class SettingFault(msgspec.Struct, frozen=True):
    """A setting that is wrong: its path in the file, the name in it that is unknown or "", and a sentence part."""

    path: tuple[str, ...]
    unknown: str
    words: str


def setting_fault(error: str, settings: Mapping[str, object], kind: type, *, text: str, file: str) -> SettingFault:
    """Return what the decoder's `error` about `settings`, to be read as `kind`, says; `text` is that of the file."""
    at = _AT.search(error)
    path = tuple(_path(at[1] if at else "$", error, cast("_Table", settings), kind))
    name = ".".join(path)
    lines = setting_lines(text)
    unknown = _UNKNOWN.search(error)
    if unknown is not None:
        words = f"unknown field `{unknown[1]}`{f' in {name}' if name else ''}"
        name = f"{name}.{unknown[1]}".lstrip(".")
    elif (missing := _MISSING.search(error)) is not None:
        words = f"{name} needs {missing[1]}".lstrip()
    elif _WRONG.match(error) and path:
        shown = _shown(path, cast("_Table", settings))
        allowed = expected_words(_type_at(inspect.type_info(kind), path))
        words = f"{name} is {shown} (expected {allowed})" if shown and allowed else error
    else:
        words = error
    line = line_of(name, lines)
    return SettingFault(path, unknown[1] if unknown else "", f"{file}:{line}: {words}" if line else words)


def without(settings: Mapping[str, object], fault: SettingFault) -> _Table:
    """Return the settings without the one that is wrong, or without its whole table if that is not found."""
    path = (*fault.path, fault.unknown) if fault.unknown else fault.path
    return _cut(cast("_Table", settings), path) if path else {}


def expected_words(kind: inspect.Type | None) -> str:  # noqa: PLR0911 - a table of types
    """Return what a setting of a type may be, "" if it cannot be said."""
    match kind:
        case inspect.LiteralType(values=values):
            return _listed([json.dumps(each) for each in values])
        case inspect.UnionType(types=types):
            return _listed([words for each in types if (words := expected_words(each))])
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType(ge=least, gt=above):
            return f"a whole number{_bound(least, above)}"
        case inspect.FloatType(ge=least, gt=above, le=most):
            return f"a number{_bound(least, above)}{'' if most is None else f', at most {most:g}'}"
        case inspect.StrType():
            return "a text in quotes"
        case inspect.VarTupleType() | inspect.ListType():
            return "a list"
        case inspect.StructType() | inspect.DictType():
            return "a table"
        case _:
            return ""


def _bound(least: float | None, above: float | None) -> str:
    if least is not None:
        return f", at least {least:g}"
    return "" if above is None else f" above {above:g}"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}" if words else ""


def _path(at: str, error: str, settings: _Table, kind: type) -> Iterator[str]:
    """Yield the names of the path `at`; one that the decoder leaves out is that of the first value that fails alike."""
    above: tuple[str, ...] = ()
    node: object = settings
    for name, index in _STEP.findall(at):
        if not isinstance(node, dict):
            return  # within a list: the list is the setting
        table: _Table = node  # pyright: ignore[reportUnknownVariableType] - TOML from outside
        step = name
        if index:
            tried = (each for each in table if _fails_alike(_only(settings, above, each), kind, error))
            step = next(tried, next(iter(table), ""))
        if step not in table:
            return
        yield step
        above = (*above, step)
        node = table[step]


def _fails_alike(settings: _Table, kind: type, error: str) -> bool:
    try:
        convert_value(settings, kind)
    except msgspec.ValidationError as found:
        return str(found) == error
    return False


def _only(settings: _Table, path: tuple[str, ...], name: str) -> _Table:
    """Return the settings in which the table at the path has only one name."""
    if not path:
        return {name: settings[name]}
    return {**settings, path[0]: _only(cast("_Table", settings[path[0]]), path[1:], name)}


def _cut(settings: _Table, path: tuple[str, ...]) -> _Table:
    first, rest = path[0], path[1:]
    inner = settings.get(first)
    if rest and isinstance(inner, dict):
        table: _Table = inner  # pyright: ignore[reportUnknownVariableType] - TOML from outside
        return {**settings, first: _cut(table, rest)}
    return {name: value for name, value in settings.items() if name != first}


def _shown(path: tuple[str, ...], settings: _Table) -> str:
    """Return the value at the path as it may be shown, "" if not."""
    table, value = settings, cast("object", settings)
    for step in path:
        value = table[step]
        table = cast("_Table", value)
    if any(step in _WITHOUT_VALUE for step in path):
        return ""
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    try:
        shown = json.dumps(value, ensure_ascii=False)
    except TypeError:  # a date
        shown = str(value)
    return shown if len(shown) <= _LONGEST_VALUE and shown.isprintable() else ""


def _type_at(kind: inspect.Type, path: tuple[str, ...]) -> inspect.Type | None:
    """Return the type of the setting at the path, None if there is none."""
    if not path:
        return kind
    match kind:
        case inspect.StructType(fields=fields):
            field = next((each for each in fields if each.encode_name == path[0]), None)
            return None if field is None else _type_at(field.type, path[1:])
        case inspect.DictType(value_type=value):
            return _type_at(value, path[1:])
        case inspect.UnionType(types=types):
            return next((found for each in types if (found := _type_at(each, path)) is not None), None)
        case _:
            return None
