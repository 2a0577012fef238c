"""The slash commands that a session has besides holdfast's own: those of plug-ins, and the prompts of MCP servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from holdfast.host.plugins.contributions import PluginSlashCommand
    from holdfast.tools.mcp.prompt_commands import ServerPrompt

SCREEN_COMMANDS: frozenset[str] = frozenset({
    "resume", "sessions", "rewind", "fork", "branches", "export", "tasks", "mcp", "diff", "copy", "context",
    "theme", "mouse", "vim", "keys", "thinking", "config", "doctor", "setup",
})  # fmt: skip
"""Names of commands that only the screen has: no plug-in may have them."""


class OfferedCommand(msgspec.Struct, frozen=True):
    """A slash command as it is listed and completed: its `name` without the slash, and what it `takes`."""

    name: str
    summary: str
    takes: str = ""

    @property
    def usage(self) -> str:
        """Return the command with its arguments."""
        return f"/{self.name} {self.takes}".rstrip()


INIT_COMMAND = OfferedCommand("init", "write AGENTS.md: what an agent has to know of this project", "[WISH]")
SKILLS_COMMAND = OfferedCommand("skills", "list skills and commands, where they are, and why one is not in use")
UNDO_COMMANDS = (
    OfferedCommand(
        "undo",
        "take back the last turn: the conversation and what calls did to files; /undo files: only the files",
        "files",
    ),
    OfferedCommand("redo", "do again to files what the last undo took back"),
)
"""The commands of a session that keeps files."""

RECEIPT_COMMAND = OfferedCommand(
    "receipt",
    "what really happened in the last turn: commands, tests, files, cost; /receipt all: in the session",
    "all",
)


def added_commands(
    plugins: Mapping[str, PluginSlashCommand], prompts: Iterable[ServerPrompt]
) -> tuple[OfferedCommand, ...]:
    """Return the commands of plug-ins, then the prompts of servers."""
    added = (OfferedCommand(name, each.summary) for name, each in plugins.items())
    return (*added, *(OfferedCommand(each.name, each.does, each.takes) for each in prompts))
