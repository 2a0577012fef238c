"""Change one setting in a TOML text; everything else stays as written, comments and order included. Pure.

How it works. A scan finds the position of each table, key and value; the change replaces one value, adds one line, or
removes one. Then the new text is decoded: it must hold the old settings plus the change, else the change is refused. So
a text that the scan misreads is never damaged, and the scan need not repeat the checks of a TOML parser.

Why not a library that keeps the style? It would parse every file a second way, and its result would still have to be
compared like this: see docs/decisions/0112-the-editor-of-settings-stays.md.

Laws (`tests/config/test_toml_edit_laws.py`): the new text holds the old settings plus the change; every other line is
as it was; a change that is undone gives the old settings back.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import cast

import msgspec

from holdfast.errors import ConfigInvalid

KeyPath = tuple[str, ...]
"""The keys of a setting, from the outermost table."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_SCALAR = re.compile(r"[^,\]}#\r\n]*")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*"{3,5}')
_LONG_LITERAL = re.compile(r"'''(?:[^']|'(?!''))*'{3,5}")


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A key with its value: the positions of both; `prefix` is the table it is written in."""

    path: KeyPath
    prefix: KeyPath
    begin: int
    value: int
    end: int
    inline: bool


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table header, up to the end of its line."""

    path: KeyPath
    begin: int
    end: int


class _Unreadable(Exception):
    """The scan found syntax that it does not know."""


def key_path(name: str) -> KeyPath:
    """Return the keys of a dotted name, as in TOML: `limits.max_steps`, `models."a:b".effort`.

    Raise `ConfigInvalid` if it is none.
    """
    try:
        below: object = {} if "\n" in name else tomllib.loads(f"{name} = 0")
    except tomllib.TOMLDecodeError:
        below = {}
    path: list[str] = []
    while isinstance(below, dict):
        tables = cast("dict[str, object]", below)
        if not tables:
            raise ConfigInvalid(f"{name!r} is not the name of a setting (expected one such as limits.max_steps).")
        [(key, below)] = tables.items()
        path.append(key)
    return tuple(path)


def key_text(path: KeyPath) -> str:
    """Return the dotted name of a path, as TOML writes it."""
    return ".".join(part if _BARE.fullmatch(part) else _string(part) for part in path)


def with_setting(text: str, path: KeyPath, value: object) -> str:
    """Return `text` with this setting. Raise `ConfigInvalid` if the place for it cannot be found."""
    before = tomllib.loads(text)
    line = f"{key_text(path)} = {value_text(value)}"
    try:
        new = _set(text, path, value_text(value))
    except _Unreadable:
        new = ""
    return _checked(new, _with(before, path, value, line), f"Add it by hand: {line}")


def without_setting(text: str, path: KeyPath) -> str:
    """Return `text` without this setting, unchanged if it has none. Raise `ConfigInvalid` as `with_setting` does."""
    before = tomllib.loads(text)
    if not _has(before, path):
        return text
    try:
        new = _unset(text, path)
    except _Unreadable:
        new = ""
    return _checked(new, _without(before, path), f"Remove it by hand: {key_text(path)}")


def value_text(value: object) -> str:
    """Return a value as TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return _string(value)
        case list() | tuple():
            return f"[{', '.join(value_text(each) for each in cast('list[object]', value))}]"
        case dict():
            pairs = cast("Mapping[str, object]", value).items()
            return f"{{ {', '.join(f'{key_text((name,))} = {value_text(each)}' for name, each in pairs)} }}"
        case _:
            return str(value)


def _string(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(new: str, expected: Mapping[str, object], advice: str) -> str:
    """Return the new text if it decodes to the expected settings."""
    try:
        right = bool(new or not expected) and tomllib.loads(new) == expected
    except (ValueError, RecursionError):
        right = False
    if not right:
        raise ConfigInvalid(f"Cannot change this config: it is laid out in an unusual way. {advice}")
    return new


# --- the settings after the change -----------------------------------------------------------------------------------


def _has(settings: Mapping[str, object], path: KeyPath) -> bool:
    below = settings.get(path[0], None)
    if len(path) == 1 or not isinstance(below, dict):
        return path[0] in settings and len(path) == 1
    return _has(cast("Mapping[str, object]", below), path[1:])


def _with(settings: Mapping[str, object], path: KeyPath, value: object, line: str) -> dict[str, object]:
    key, below = path[0], settings.get(path[0], {})
    if len(path) == 1:
        return {**settings, key: list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value}
    if not isinstance(below, dict):
        raise ConfigInvalid(f"Cannot set {line}: {key} is a value here, not a table. Remove it first.")
    return {**settings, key: _with(cast("dict[str, object]", below), path[1:], value, line)}


def _without(settings: Mapping[str, object], path: KeyPath) -> dict[str, object]:
    key = path[0]
    rest = {name: value for name, value in settings.items() if name != key}
    if len(path) == 1:
        return rest
    return {**settings, key: _without(cast("dict[str, object]", settings[key]), path[1:])}


# --- the change ------------------------------------------------------------------------------------------------------


def _set(text: str, path: KeyPath, value: str) -> str:
    entries, tables = _scan(text)
    ending = "\r\n" if "\r\n" in text else "\n"
    same = next((each for each in entries if each.path == path), None)
    if same is not None:
        return text[: same.value] + value + text[same.end :]
    if any(each.path[: len(path)] == path for each in (*entries, *tables)):
        name = key_text(path)
        raise ConfigInvalid(
            f"Cannot set {name} = {value}: {name} is a table here, not a value. Remove its settings first."
        )
    around = [each for each in entries if len(each.path) < len(path) and path[: len(each.path)] == each.path]
    if around:
        return _added_inline(text, max(around, key=lambda each: len(each.path)), path, value)
    parent = path[:-1]
    near = [each for each in entries if not each.inline and each.path[: len(parent)] == parent]
    table = next((each for each in tables if each.path == parent), None)
    if table is not None:
        near = [each for each in near if each.prefix == parent]
        at = _line_end(text, near[-1].end) if near else table.end
        return _line_added(text, at, f"{key_text(path[-1:])} = {value}", ending)
    dotted = [each for each in near if len(each.prefix) < len(parent)] if parent else near
    dotted = [each for each in dotted if parent or not each.prefix]
    if dotted:
        relative = path[len(dotted[-1].prefix) :]
        return _line_added(text, _line_end(text, dotted[-1].end), f"{key_text(relative)} = {value}", ending)
    return _with_new_table(text, path, value, ending, before_tables=bool(tables))


def _with_new_table(text: str, path: KeyPath, value: str, ending: str, *, before_tables: bool) -> str:
    """Return the text with a setting whose table it does not have yet: in a new table, or above all tables."""
    line = f"{key_text(path[-1:])} = {value}{ending}"
    if path[:-1]:
        gap = "" if not text.strip() else ending if text.endswith("\n") else 2 * ending
        return f"{text}{gap}[{key_text(path[:-1])}]{ending}{line}"
    if before_tables:
        return f"{line}{ending}{text}"
    return f"{text}{ending if text and not text.endswith(chr(10)) else ''}{line}"


def _added_inline(text: str, table: _Entry, path: KeyPath, value: str) -> str:
    inside = text[table.value : table.end].rstrip()
    if not inside.endswith("}"):
        raise _Unreadable
    head = inside[:-1].rstrip() + "," if inside[1:-1].strip() else "{"
    return f"{text[: table.value]}{head} {key_text(path[len(table.path) :])} = {value} }}{text[table.end :]}"


def _unset(text: str, path: KeyPath) -> str:
    entries, _ = _scan(text)
    for each in entries:
        if each.path != path:
            continue
        if each.inline:
            after = _SPACE.match(text, each.end)
            end = each.end if after is None else after.end()
            if text[end : end + 1] == ",":
                rest = _SPACE.match(text, end + 1)
                return text[: each.begin] + text[end + 1 if rest is None else rest.end() :]
            head = text[: each.begin].rstrip()
            return head.removesuffix(",") + text[each.end :]
        start = text.rfind("\n", 0, each.begin) + 1
        return text[:start] + text[_line_end(text, each.end) :]
    raise _Unreadable


def _line_end(text: str, at: int) -> int:
    """Return where the line after the one with `at` begins."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end + 1


def _line_added(text: str, at: int, line: str, ending: str) -> str:
    before = text[:at]
    gap = ending if before and not before.endswith("\n") else ""
    return f"{before}{gap}{line}{ending}{text[at:]}"


# --- the scan --------------------------------------------------------------------------------------------------------


def _scan(text: str) -> tuple[list[_Entry], list[_Table]]:
    """Return every key with its value, and every table, in their order."""
    entries: list[_Entry] = []
    tables: list[_Table] = []
    prefix: KeyPath = ()
    at = _blank(text, 0)
    while at < len(text):
        if text[at] == "[":
            many = text.startswith("[[", at)
            prefix, end = _key(text, at + 1 + many)
            end = _line_end(text, end)
            if not many:  # settings in a list of tables have no name of their own
                tables.append(_Table(path=prefix, begin=at, end=end))
            at = _blank(text, end)
        else:
            found = list(_pair(text, at, prefix, inline=False))
            entries += found
            at = _blank(text, found[0].end)
    return entries, tables


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return at if found is None else found.end()


def _pair(text: str, at: int, prefix: KeyPath, *, inline: bool) -> Iterator[_Entry]:
    """Yield the entry that begins at `at`, then those in its inline table."""
    path, after = _key(text, at)
    if text[after : after + 1] != "=":
        raise _Unreadable
    value = _spaces(text, after + 1)
    inner: list[_Entry] = []
    end = _value(text, value, (*prefix, *path), inner)
    yield _Entry(path=(*prefix, *path), prefix=prefix, begin=at, value=value, end=end, inline=inline)
    yield from inner


def _spaces(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _key(text: str, at: int) -> tuple[KeyPath, int]:
    """Return the dotted key at `at`, and the position after it."""
    path: list[str] = []
    while True:
        at = _spaces(text, at)
        found = _BARE.match(text, at) or _BASIC.match(text, at) or _LITERAL.match(text, at)
        if found is None:
            raise _Unreadable
        path.append(found[0] if found[0][0] not in "\"'" else next(iter(tomllib.loads(f"{found[0]} = 0"))))
        at = _spaces(text, found.end())
        if text[at : at + 1] != ".":
            return tuple(path), at
        at += 1


def _value(text: str, at: int, path: KeyPath, inner: list[_Entry]) -> int:
    """Return where the value at `at` ends; add the entries of inline tables to `inner`."""
    for begin, pattern in (('"""', _LONG_BASIC), ("'''", _LONG_LITERAL), ('"', _BASIC), ("'", _LITERAL)):
        if text.startswith(begin, at):
            found = pattern.match(text, at)
            if found is None:
                raise _Unreadable
            return found.end()
    if text[at : at + 1] == "[":
        return _list_end(text, at)
    if text[at : at + 1] == "{":
        at = _blank(text, at + 1)
        while text[at : at + 1] != "}":
            found = list(_pair(text, at, path, inline=True))
            inner += found
            at = _blank(text, found[0].end)
            if text[at : at + 1] == ",":
                at = _blank(text, at + 1)
            elif text[at : at + 1] != "}":
                raise _Unreadable
        return at + 1
    found = _SCALAR.match(text, at)
    if found is None or not found[0].strip():
        raise _Unreadable
    return at + len(found[0].rstrip())


def _list_end(text: str, at: int) -> int:
    at = _blank(text, at + 1)
    while text[at : at + 1] != "]":
        at = _blank(text, _value(text, at, (), []))
        if text[at : at + 1] == ",":
            at = _blank(text, at + 1)
        elif text[at : at + 1] != "]":
            raise _Unreadable
    return at + 1
