"""The themes: deep water and kelp, dark and light. Every colour on the screen belongs to the theme."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from textual.theme import BUILTIN_THEMES, Theme

from holdfast.ui.tui.environment.background_colour import light_by_environment

DARK = Theme(
    name="holdfast-dark",
    primary="#5fb3a1",
    secondary="#7aa2c9",
    accent="#d9b36c",
    success="#7fb77e",
    warning="#d9b36c",
    error="#d97373",
    foreground="#d5dbd8",
    background="#101517",
    surface="#171e21",
    panel="#1f282b",
    dark=True,
)

LIGHT = Theme(
    name="holdfast-light",
    primary="#1a6a5a",
    secondary="#2c5d86",
    accent="#7a560d",
    success="#2f6b2e",
    warning="#7a560d",
    error="#b03a3a",
    foreground="#161e20",
    background="#f6f8f6",
    surface="#ebefec",
    panel="#dfe5e1",
    dark=False,
)


class FirstTheme(msgspec.Struct, frozen=True):
    """The first theme; it `is_default` if the user chose no existing one, so that the background may decide."""

    name: str
    is_default: bool
    problem: str = ""


def first_theme(chosen: str | None, environ: Mapping[str, str]) -> FirstTheme:
    """Return the theme of the config, else the one for the background that the environment names."""
    if chosen in BUILTIN_THEMES or chosen in (DARK.name, LIGHT.name):
        return FirstTheme(chosen, is_default=False)
    problem = "" if chosen is None else f"Unknown theme {chosen!r} in config.toml. See /theme."
    return FirstTheme((LIGHT if light_by_environment(environ) else DARK).name, is_default=True, problem=problem)


def theme_names(available: Mapping[str, Theme]) -> tuple[str, ...]:
    """Return the names of the themes to choose from, holdfast's first; those of 16 colours have too few shades."""
    holdfast_names = (DARK.name, LIGHT.name)
    return (
        *holdfast_names,
        *sorted(name for name, theme in available.items() if not theme.ansi and name not in holdfast_names),
    )
