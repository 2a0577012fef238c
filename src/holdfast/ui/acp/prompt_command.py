"""The commands that a user can type as a prompt in an editor. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.ui.acp.display.call_cards import AcpFields

if TYPE_CHECKING:
    from holdfast.tools.mcp.prompt_commands import ServerPrompt

CommandName = Literal["compact", "uncompact", "rename", "continue"]

_OFFERED: dict[CommandName, tuple[str, str]] = {
    "compact": ("Summarize the older part of the conversation", "what the summary should keep"),
    "uncompact": ("Undo the last /compact", ""),
    "rename": ("Name the session", "the name"),
    "continue": ("Answer the question that is still open, and continue its turn", ""),
}
_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)


class PromptCommand(msgspec.Struct, frozen=True):
    """A command with its words."""

    name: CommandName
    words: str = ""


def prompt_command(text: str) -> PromptCommand | None:
    """Return the command in a prompt, None if it is an ordinary prompt."""
    found = _COMMAND.fullmatch(text.strip())
    for name in _OFFERED:
        if found is not None and found[1] == name:
            return PromptCommand(name, (found[2] or "").strip())
    return None


def asks_again(command: PromptCommand | None) -> bool:
    """Return whether the command answers a question that an earlier process left open."""
    return command is not None and command.name == "continue"


def commands_update(prompts: Iterable[ServerPrompt], *, waits: bool) -> AcpFields:
    """Return the update that lists the commands, including those for the `prompts` of servers.

    `waits` is whether a question is still open.
    """
    listed: list[AcpFields] = []
    for name, (description, hint) in _OFFERED.items():
        if name == "continue" and not waits:
            continue
        listed.append({"name": name, "description": description, **({"input": {"hint": hint}} if hint else {})})
    for each in prompts:
        hint = {"input": {"hint": each.takes}} if each.takes else {}
        listed.append({"name": each.name, "description": each.does, **hint})
    return {"sessionUpdate": "available_commands_update", "availableCommands": listed}
