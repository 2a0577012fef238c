"""Checks a command where it comes in: one with a field of the wrong type is refused, whatever sent it.

A program in the same process builds its commands itself, and no type checker may have seen them. What a wrong value
would do comes later and elsewhere: in the journal, in the agent, at the next start.
"""

from __future__ import annotations

from typing import cast

import msgspec

from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.text import valid_unicode
from holdfast.typed_data import exact_value


def checked_command(command: object) -> c.Command:
    """Return the command with the types that it declares; raises `UsageError` if it has others."""
    name = type(command).__name__
    if not isinstance(command, c.Command):
        raise UsageError(
            f"Value of type {name} is no command (expected Prompt, Stop or another one). Nothing was done."
        )
    try:
        checked: c.Command = exact_value(command, c.Command)
    except msgspec.ValidationError as error:
        raise UsageError(f"Command {name} has a wrong field: {error}. Nothing was done. Correct it.") from error
    match checked:
        case c.Prompt(id=message) if message != valid_unicode(message):
            raise UsageError(f"Command {name} has a wrong id: {message!r} is not valid Unicode. Nothing was done.")
        case c.Stop(detail=detail):
            return msgspec.structs.replace(checked, detail=valid_unicode(detail))
        case _:
            return checked


def typed_text(command: object) -> str:
    """Return the text of a prompt or a typed line, which returns to the user if it is refused, else ""."""
    text = cast("object", command.text) if isinstance(command, c.Prompt | c.Typed) else ""
    return text if isinstance(text, str) else ""
