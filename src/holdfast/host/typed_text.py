"""What a typed line is: a shell command, a slash command, or a prompt. Pure.

Only `Typed` is read like this, and only a surface with a keyboard sends it: no text is code by accident.
"""

from __future__ import annotations

from holdfast.host.commands import Prompt, Shell, Slash, Typed


def is_slash(text: str) -> bool:
    """Return whether a line is a slash command: not a path, not several lines, not the prompt of a server."""
    name, *_ = text.split(maxsplit=1) or [""]
    server = name.startswith("/mcp__")
    return name.startswith("/") and "/" not in name[1:] and "\n" not in text.strip() and not server


def interpreted(typed: Typed, *, shell: bool) -> Prompt | Shell | Slash:
    """Return the command in a typed line; without `shell`, `!` is text."""
    text = typed.text
    if shell and text.startswith("!") and (command := text.lstrip("!").strip()):
        return Shell(command, share=text.startswith("!!"))
    if is_slash(text):
        name, _, rest = text.strip()[1:].partition(" ")
        return Slash(name, rest.strip())
    return Prompt(text, typed.when)
