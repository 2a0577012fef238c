"""The commands that a user can type in an editor: a prompt that begins with one is no prompt. Pure."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from holdfast.ui.acp.call_cards import AcpFields

CommandName = Literal["compact", "uncompact", "rename"]

_OFFERED: dict[CommandName, tuple[str, str]] = {
    "compact": ("Summarize the older part of the conversation", "what the summary should keep"),
    "uncompact": ("Undo the last /compact", ""),
    "rename": ("Name the session", "the name"),
}
_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)


class PromptCommand(msgspec.Struct, frozen=True):
    """A command with its words."""

    name: CommandName
    words: str = ""


def prompt_command(text: str) -> PromptCommand | None:
    """Return the command that a prompt is, None if it is an ordinary prompt."""
    found = _COMMAND.fullmatch(text.strip())
    for name in _OFFERED:
        if found is not None and found[1] == name:
            return PromptCommand(name, (found[2] or "").strip())
    return None


def commands_update() -> AcpFields:
    """Return the update that lists the commands."""
    listed: list[AcpFields] = []
    for name, (says, hint) in _OFFERED.items():
        listed.append({"name": name, "description": says, **({"input": {"hint": hint}} if hint else {})})
    return {"sessionUpdate": "available_commands_update", "availableCommands": listed}
