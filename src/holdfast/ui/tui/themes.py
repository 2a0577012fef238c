"""The themes: deep water and kelp, dark and light. Every colour on the screen belongs to the theme."""

from __future__ import annotations

from collections.abc import Mapping

from textual.theme import Theme

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


def theme_names(available: Mapping[str, Theme]) -> tuple[str, ...]:
    """Return the names of the themes to choose from, ours first; those of 16 colours have too few shades."""
    ours = (DARK.name, LIGHT.name)
    return (*ours, *sorted(name for name, theme in available.items() if not theme.ansi and name not in ours))
