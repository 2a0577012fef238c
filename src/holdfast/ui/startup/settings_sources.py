"""Every setting of a run with its value and source. Pure.

Key values never appear. The last source wins: default, config, project, option.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from holdfast.config.setting_lines import line_of, setting_lines
from holdfast.providers.credentials.redaction import HIDDEN, redact, strip_credentials
from holdfast.ui.startup.arguments import Arguments

_SECRET = re.compile(r"mcp\.servers\..*\.(?:env|headers)\.")
"""The names of values that are often secrets."""

OPTION = "option"
"""The source of settings on the command line."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """A setting: its dotted name, its value and its source; `line` is 0 if the source is not a file."""

    name: str
    value: object
    source: str
    line: int = 0


class Layer(msgspec.Struct, frozen=True):
    """A source of settings: a file with its text, or the command line."""

    name: str
    settings: Mapping[str, object]
    lines: Mapping[str, int]


def layer(name: str, text: str) -> Layer:
    """Return the settings in a valid config text."""
    settings = _flat(cast("Mapping[str, object]", tomllib.loads(text)))
    return Layer(name, settings, setting_lines(text))


def option_layer(arguments: Arguments) -> Layer:
    """Return the settings on the command line."""
    options: dict[str, object] = {
        "model": arguments.model,
        "effort": arguments.effort,
        "temperature": arguments.temperature,
        "max_output": arguments.max_output,
        "service_tier": arguments.service_tier,
        "fallback_model": arguments.fallback_model,
        "permission_mode": "yolo" if arguments.yolo else arguments.permission_mode,
        "sandbox": arguments.sandbox,
        "on_approval": arguments.on_approval,
        "limits.max_steps": arguments.max_steps,
        "limits.max_cost": arguments.max_cost,
        "limits.timeout": arguments.timeout,
    }
    return Layer(OPTION, {name: value for name, value in options.items() if value is not None}, {})


def values(effective: msgspec.Struct, layers: Sequence[Layer]) -> list[Value]:
    """Return every setting of the effective config, each with the last layer that sets it.

    After them come the settings that only the command line has.
    """
    found: list[Value] = []
    settings = flat(effective)
    options = {name: value for each in layers if each.name == OPTION for name, value in each.settings.items()}
    for name, value in (settings | {name: value for name, value in options.items() if name not in settings}).items():
        winner = next((each for each in reversed(layers) if name in each.settings), None)
        source, line = ("default", 0) if winner is None else (winner.name, line_of(name, winner.lines))
        found.append(Value(name=name, value=_harmless(name, value), source=source, line=line))
    return found


def flat(settings: msgspec.Struct) -> dict[str, object]:
    """Return the settings by their dotted names."""
    return _flat(msgspec.to_builtins(settings))


def display_value(value: object) -> str:
    """Return a value as written in a config file."""
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _harmless(name: str, value: object) -> object:
    """Return the value with passwords and keys redacted."""
    if not isinstance(value, str):
        return value
    if _SECRET.match(name):
        return HIDDEN
    return strip_credentials(value) if name.endswith((".base_url", ".url")) else redact(value, ())


def _flat(settings: Mapping[str, object], above: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            found |= _flat(cast("dict[str, object]", value), f"{above}{key}.")
        else:
            found[f"{above}{key}"] = value
    return found
