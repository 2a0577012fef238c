"""Finds the user's editor."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping

from holdfast.errors import UsageError

FALLBACKS = ("nano", "vim", "vi")
"""The editors to use if $VISUAL and $EDITOR name none that is installed."""


def editor_command(environ: Mapping[str, str], which: Callable[[str], str | None]) -> list[str]:
    """Return the command of the first editor that `which` finds: $VISUAL, $EDITOR, or a usual one.

    Raise `UsageError` with all editors that were tried if none is found.
    """
    tried: list[str] = []
    for name, command in [
        *((f"${variable}", environ.get(variable, "")) for variable in ("VISUAL", "EDITOR")),
        *((fallback, fallback) for fallback in FALLBACKS),
    ]:
        try:
            words = shlex.split(command)
        except ValueError:
            words = [command]
        if words and which(words[0]):
            return words
        tried.append(f"{name} ({command!r})" if words and name != command else name if words else f"{name} (not set)")
    raise UsageError(f"No editor is installed: tried {', '.join(tried)}. Install one, or set $EDITOR.")
