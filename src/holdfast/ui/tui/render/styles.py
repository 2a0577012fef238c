"""The styles of the transcript: one field per kind of text, all in colours of the theme."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from rich.style import Style

from holdfast.ui.tui.render.lexers import Lexers


class Styles(msgspec.Struct, frozen=True):
    """The styles in the current theme; each includes its background."""

    text: Style
    dim: Style
    faint: Style
    bar: Style
    prompt: Style
    heading: Style
    name: Style
    code: Style
    link: Style
    running: Style
    ok: Style
    failed: Style
    warning: Style
    block: Style
    number: Style
    added: Style
    added_word: Style
    removed: Style
    removed_word: Style
    keyword: Style
    string: Style
    literal: Style
    function: Style
    comment: Style
    hint: Style
    chosen: Style
    lexers: Lexers


CLASS = "transcript--"
COMPONENTS = frozenset(f"{CLASS}{field}" for field in Styles.__struct_fields__ if field != "lexers")
"""The component classes that a style sheet sets, one per field."""

STYLES = """
Transcript {
    scrollbar-size-vertical: 1;
    scrollbar-gutter: stable;
    overflow-x: hidden;
    overflow-y: auto;
    & > .transcript--text { color: $foreground; }
    & > .transcript--dim { color: $foreground 70%; }
    & > .transcript--faint { color: $foreground 55%; }
    & > .transcript--bar { color: $primary; background: $surface; }
    & > .transcript--prompt { color: $foreground; background: $surface; }
    & > .transcript--heading { color: $primary; text-style: bold; }
    & > .transcript--name { color: $foreground; text-style: bold; }
    & > .transcript--code { color: $secondary; }
    & > .transcript--link { color: $secondary; text-style: underline; }
    & > .transcript--running { color: $primary; }
    & > .transcript--ok { color: $success; }
    & > .transcript--failed { color: $error; }
    & > .transcript--warning { color: $warning; }
    & > .transcript--block { color: $foreground; background: $surface; }
    & > .transcript--number { color: $foreground 55%; }
    & > .transcript--added { color: $foreground; background: $success 12%; }
    & > .transcript--added_word { color: $foreground; background: $success 32%; }
    & > .transcript--removed { color: $foreground 80%; background: $error 12%; }
    & > .transcript--removed_word { color: $foreground; background: $error 32%; }
    & > .transcript--keyword { color: $primary; background: $surface; }
    & > .transcript--string { color: $success; background: $surface; }
    & > .transcript--literal { color: $warning; background: $surface; }
    & > .transcript--function { color: $secondary; background: $surface; }
    & > .transcript--comment { color: $foreground 62%; background: $surface; text-style: italic; }
    & > .transcript--hint { color: $foreground; background: $panel; }
    & > .transcript--chosen { color: $foreground; background: $primary 25%; }
}
"""


def styles_of(style: Callable[[str], Style], lexers: Lexers) -> Styles:
    """Return the styles from `style`, called with each component class."""
    return Styles(**{name.removeprefix(CLASS): style(name) for name in COMPONENTS}, lexers=lexers)
