"""Checks what a plug-in registers, before anything of it is used: closed lists of good things, each with a bound."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import TypeVar, cast, get_args

from holdfast.errors import HoldfastError
from holdfast.history.formats import FORMATS
from holdfast.history.formats.format import Format
from holdfast.history.profiles import PROFILES
from holdfast.host.offered_commands import SCREEN_COMMANDS
from holdfast.host.plugins.contributions import (
    PLUGIN_VERSION,
    Contributions,
    PluginCommand,
    PluginSlashCommand,
    PluginSurface,
)
from holdfast.host.plugins.guarded_tool import GuardedTool
from holdfast.host.slash_commands import SESSION_COMMANDS, SLASH_ALIASES
from holdfast.providers.catalog import PROVIDERS, PYDANTIC_AI, Provider
from holdfast.tool_calls import Effect, ToolSchema
from holdfast.tools.arguments.tolerant_tool import canonical_name
from holdfast.tools.schema_fault import LONGEST_SUMMARY, TOOL_NAME, schema_fault
from holdfast.tools.tool import Tool
from holdfast.tools.tool_choice import ALL_TOOLS

MOST_REGISTERED = 100
"""Entries of one list of a plug-in."""

_LISTS = ("tools", "slash_commands", "commands", "providers", "formats", "surfaces")
_EFFECTS: frozenset[str] = frozenset(get_args(Effect))

T = TypeVar("T")


class NotUsable(HoldfastError):
    """A plug-in registers something that cannot be used; the text is the reason."""


def contributions_of(module: Mapping[str, object], *, commands: Container[str]) -> Contributions:
    """Return what the module registers; `commands` are the names that holdfast has. Raises `NotUsable`."""
    version = module.get("holdfast_plugin")
    if version != PLUGIN_VERSION:
        have = "has no number" if version is None else f"is for version {version!r}"
        raise NotUsable(f"it {have} (expected holdfast_plugin = {PLUGIN_VERSION})")
    found = Contributions(
        tools=_listed(module, "tools", lambda each: _checked_tool(cast("Tool", each))),
        slash_commands=_listed(module, "slash_commands", _typed(PluginSlashCommand)),
        commands=_listed(module, "commands", _typed(PluginCommand)),
        providers=_listed(module, "providers", _typed(Provider)),
        formats=_listed(module, "formats", lambda each: _checked_format(cast("Format", each))),
        surfaces=_listed(module, "surfaces", _typed(PluginSurface)),
    )
    if not any(getattr(found, name) for name in _LISTS):
        raise NotUsable(f"it registers nothing (expected a list named one of {', '.join(_LISTS)})")
    for each in (*found.slash_commands, *found.commands, *found.surfaces):
        _check_text(each.name, each.summary)
    for each in found.slash_commands:
        is_holdfasts = each.name in SESSION_COMMANDS or each.name in SLASH_ALIASES or each.name in SCREEN_COMMANDS
        if is_holdfasts or each.name.startswith("mcp__"):
            raise NotUsable(f"the slash command {each.name!r} is holdfast's own (expected another name)")
    for each in (*found.commands, *found.surfaces):
        if each.name in commands:
            raise NotUsable(f"the command {each.name!r} is holdfast's own (expected another name)")
    for each in found.providers:
        _check_name(each.name, "provider")
        if each.name in PROVIDERS or each.name == PYDANTIC_AI:
            raise NotUsable(f"the provider {each.name!r} is holdfast's own (expected another name)")
    check_unique(names_of(found))
    return found


def names_of(found: Contributions) -> list[str]:
    """Return the kind and the name of everything that is registered."""
    return [
        *(f"tool {each.schema.name!r}" for each in found.tools),
        *(f"slash command {each.name!r}" for each in found.slash_commands),
        *(f"command {each.name!r}" for each in (*found.commands, *found.surfaces)),
        *(f"provider {each.name!r}" for each in found.providers),
        *(f"format {each.name!r}" for each in found.formats),
    ]


def check_unique(names: list[str]) -> None:
    """Raise `NotUsable` if a name is there twice."""
    for at, name in enumerate(names):
        if name in names[:at]:
            raise NotUsable(f"the {name} is registered twice (expected each name once)")


def _listed(module: Mapping[str, object], name: str, check: Callable[[object], T]) -> tuple[T, ...]:
    listed = module.get(name, ())
    if not isinstance(listed, list | tuple):
        raise NotUsable(f"its {name} are {type(listed).__name__} (expected a list)")
    values = cast("list[object]", listed)
    if len(values) > MOST_REGISTERED:
        raise NotUsable(f"it registers {len(values)} {name} (expected {MOST_REGISTERED} at most)")
    return tuple(check(each) for each in values)


def _typed(kind: type[T]) -> Callable[[object], T]:
    def check(value: object) -> T:
        if not isinstance(value, kind):
            raise NotUsable(f"it registers {type(value).__name__} (expected {kind.__name__})")
        return value

    return check


def _checked_tool(tool: Tool) -> GuardedTool:
    guarded = GuardedTool(tool)
    schema = cast("object", guarded.schema)
    if not isinstance(schema, ToolSchema):
        raise NotUsable(f"the schema of a tool is {type(schema).__name__} (expected ToolSchema)")
    if fault := schema_fault(schema):
        raise NotUsable(f"the tool {schema.name!r} {fault}")
    if canonical_name(schema.name) in ALL_TOOLS or schema.name.startswith("mcp_"):
        raise NotUsable(f"the tool {schema.name!r} has a name of holdfast's own tools (expected another name)")
    if guarded.effect not in _EFFECTS:
        raise NotUsable(f"the tool {schema.name!r} has the effect {guarded.effect!r} (expected {', '.join(_EFFECTS)})")
    if not callable(tool.plan):
        raise NotUsable(f"the tool {schema.name!r} has no function `plan`")
    return guarded


def _checked_format(form: Format) -> Format:
    _check_name(form.name, "format")
    if form.name in FORMATS:
        raise NotUsable(f"the format {form.name!r} is holdfast's own (expected another name)")
    if form.profile not in PROFILES:
        raise NotUsable(f"the format {form.name!r} has the profile {form.profile!r} (expected {', '.join(PROFILES)})")
    for part in ("grammar", "keys", "request_facts", "message", "build"):
        if not hasattr(form, part):
            raise NotUsable(f"the format {form.name!r} has no {part!r} (expected what holdfast's `Format` has)")
    return form


def _check_text(name: str, summary: object) -> None:
    _check_name(name, "command")
    is_line = isinstance(summary, str) and summary.strip() and summary.isprintable()
    if not is_line or len(str(summary)) > LONGEST_SUMMARY:
        raise NotUsable(f"the command {name!r} has no usable summary (expected one printable line)")


def _check_name(name: object, what: str) -> None:
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise NotUsable(f"a {what} has the name {name!r} (expected a-z, 0-9, '_' and '-', at most 64)")
