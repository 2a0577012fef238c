"""The purpose and the possible values of each setting, from the types that decode the config file. Pure."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, get_args

import msgspec
from msgspec import inspect

from holdfast.config.settings import Config, ProjectConfig
from holdfast.config.toml_edit import KeyPath, key_path, key_text, value_text
from holdfast.errors import UsageError

SettingScope = Literal["session", "project", "user"]
"""Where a choice is kept: in the session until its end, in the project's config, or in the user's."""

FileScope = Literal["project", "user"]
"""The scopes that are files."""

SETTING_SCOPES: tuple[SettingScope, ...] = get_args(SettingScope)

COMMON: Mapping[str, str] = MappingProxyType(
    {
        "model": "the model of new sessions, PROVIDER:MODEL",
        "effort": "how much the model reasons",
        "fallback_model": "stands in for a model that does not answer",
        "title_model": "writes the titles of sessions",
        "permission_mode": "what runs without asking",
        "sandbox": "whether commands run in a sandbox",
        "on_approval": "what happens where no user can be asked",
        "theme": "the colours of the screen",
        "ui.keys": "how the prompt is edited",
        "mouse": "mouse support",
        "show_thinking": "thinking is shown as it streams",
        "notify": "how the screen says that it needs you",
        "statusline": "your own command for the status line",
        "wake": "a background task that ends begins a turn",
        "edit_tool": "how new sessions edit files",
        "tools": "the only tools of new sessions",
        "limits.max_cost": "most US dollars of a run",
        "limits.max_steps": "most requests of a turn",
        "limits.timeout": "most seconds of a turn",
        "context.compact": "summarize older messages when the window is nearly full",
        "permissions.allow": "calls that run without asking",
        "permissions.ask": "calls that always ask",
        "permissions.deny": "calls that never run",
        "permissions.claude_settings": "obey the rules in the settings of Claude Code",
        "mcp.read_claude": "read the MCP servers in ~/.claude.json",
    }
)
"""The settings that people change, in the order shown; all others are internals."""

_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "model": "PROVIDER:MODEL",
        "fallback_model": "PROVIDER:MODEL",
        "title_model": "PROVIDER:MODEL",
        "theme": "the name of a theme, see /theme",
    }
)


class SettingForm(msgspec.Struct, frozen=True, kw_only=True):
    """The possible values of a setting: described as `expected`, and as `choices` if they are few, else ()."""

    expected: str
    choices: tuple[str, ...] = ()
    is_text: bool = False


def setting_path(name: str) -> KeyPath:
    """Return the path of a setting of the user's config. Raise `UsageError` if there is none of this name."""
    path = key_path(name)
    if _type(path, Config) is None:
        near = difflib.get_close_matches(name, setting_names(), n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]}?" if near else "See all: holdfast config."
        raise UsageError(f"Unknown setting {name!r}. {hint}")
    return path


def form(path: KeyPath, kind: type[Config | ProjectConfig] = Config) -> SettingForm:
    """Return the possible values of a setting."""
    found = _type(path, kind)
    if found is None:
        return SettingForm(expected="a setting")
    kinds = [each for each in _kinds(found) if not isinstance(each, inspect.StructType)]  # a table is set by its names
    expected = _WORDS.get(key_text(path)) or " or ".join(dict.fromkeys(map(_expected, kinds)))
    choices = tuple(choice for each in kinds for choice in _choices(each))
    return SettingForm(expected=expected, choices=choices, is_text=any(map(_is_text, kinds)))


def scopes(path: KeyPath) -> tuple[FileScope, ...]:
    """Return the files in which a setting can be kept: a project's config has only a few settings."""
    return ("project", "user") if _type(path, ProjectConfig) is not None else ("user",)


def parsed_value(path: KeyPath, text: str) -> object:
    """Return the value of `text`: parsed as TOML, or the text itself for a setting that is text."""
    try:
        value: object = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError, KeyError):  # also a number with very many digits
        return text
    is_number = isinstance(value, int | float)  # true and false too
    return text if is_number and form(path).is_text else value


def setting_names() -> Iterator[str]:
    """Yield the name of every setting of the user's config."""

    def walk(found: inspect.Type, above: KeyPath) -> Iterator[str]:
        tables = [each for each in _kinds(found) if isinstance(each, inspect.StructType)]
        for field in (field for each in tables for field in each.fields):
            yield from walk(field.type, (*above, field.encode_name))
        if len(tables) < len(_kinds(found)):  # it may be a value too, such as `undo`
            yield key_text(above)

    yield from walk(inspect.type_info(Config), ())


def _type(path: KeyPath, kind: type[msgspec.Struct]) -> inspect.Type | None:
    """Return the type of the setting at `path`, None if there is no such setting or if it is a table."""
    now: inspect.Type | None = inspect.type_info(kind)
    for key in path:
        inner: inspect.Type | None = None
        for each in _kinds(now):
            if isinstance(each, inspect.StructType):
                inner = next((field.type for field in each.fields if field.encode_name == key), None)
            elif isinstance(each, inspect.DictType):
                inner = each.value_type
        if inner is None:
            return None
        now = inner
    return None if all(isinstance(each, inspect.StructType | inspect.DictType) for each in _kinds(now)) else now


def _kinds(found: inspect.Type | None) -> tuple[inspect.Type, ...]:
    """Return the alternatives of a type, without None: an unset setting is left out of the file."""
    if found is None:
        return ()
    if isinstance(found, inspect.Metadata):
        return _kinds(found.type)
    alternatives = found.types if isinstance(found, inspect.UnionType) else (found,)
    return tuple(each for each in alternatives if not isinstance(each, inspect.NoneType))


def _is_text(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.StrType) or (
        isinstance(kind, inspect.LiteralType) and all(isinstance(each, str) for each in kind.values)
    )


def _choices(kind: inspect.Type) -> tuple[str, ...]:
    if isinstance(kind, inspect.BoolType):
        return ("true", "false")
    return tuple(map(str, kind.values)) if isinstance(kind, inspect.LiteralType) else ()


def _expected(kind: inspect.Type) -> str:
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return f"one of {', '.join(map(str, values))}"
        case inspect.IntType() | inspect.FloatType():
            kind_text = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
            bounds = (("at least", kind.ge), ("greater than", kind.gt), ("at most", kind.le), ("less than", kind.lt))
            limits = " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)
            return f"{kind_text}, {limits}" if limits else kind_text
        case inspect.VarTupleType() | inspect.ListType():
            return 'a list of texts, such as ["one", "two"]'
        case _:
            return "a text"


def plain(value: object) -> str:
    """Return a value as the user types it."""
    return value if isinstance(value, str) else "" if value is None else value_text(value)
