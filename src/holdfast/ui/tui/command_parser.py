"""The slash commands of the screen: names, arguments and descriptions, and which of them a line names. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Literal

import msgspec

from holdfast.errors import UsageError
from holdfast.host.commands import Slash
from holdfast.text import literal

Name = Literal[
    "help",
    "new",
    "resume",
    "rewind",
    "fork",
    "branches",
    "rename",
    "model",
    "effort",
    "permissions",
    "compact",
    "uncompact",
    "export",
    "tasks",
    "mcp",
    "diff",
    "copy",
    "status",
    "cost",
    "context",
    "theme",
    "mouse",
    "vim",
    "keys",
    "thinking",
    "config",
    "doctor",
    "setup",
    "quit",
]


class _Command(msgspec.Struct, frozen=True):
    """One command: `arguments` names its arguments, "" if it has none."""

    name: Name
    description: str
    arguments: str = ""
    aliases: tuple[str, ...] = ()


SLASH_COMMANDS: tuple[_Command, ...] = (
    _Command("help", "keys and commands"),
    _Command("new", "start a new session (this one is saved)", aliases=("clear",)),
    _Command("resume", "resume another session", "[ID]", ("sessions",)),
    _Command("rewind", "rewind to an earlier prompt and edit it"),
    _Command("fork", "continue in a copy of this session"),
    _Command("branches", "list what rewinds left behind, and continue one in a copy"),
    _Command("rename", "set the title of this session", "TITLE"),
    _Command("model", "switch model", "[PROVIDER:MODEL] [SCOPE]"),
    _Command("effort", "how much the model reasons", "[LEVEL] [SCOPE]"),
    _Command("permissions", "permission mode and allow list", "[MODE] [SCOPE]"),
    _Command("compact", "summarize older messages to free context", "[WHAT TO KEEP]"),
    _Command("uncompact", "undo the last compaction"),
    _Command("export", "export the conversation to a file", "[FORM] [FILE]"),
    _Command("tasks", "list background tasks, see their output, stop one", "[[stop] ID]"),
    _Command("mcp", "show MCP servers: state, tools, last log lines; restart one", "[[restart] SERVER]"),
    _Command("diff", "show what changed: in the last turn, the session, or the working tree", "[turn|session|tree]"),
    _Command("copy", "copy the last answer"),
    _Command("status", "show session, model, folder, versions"),
    _Command("cost", "token usage and cost"),
    _Command("context", "context window usage"),
    _Command("theme", "change theme", "[NAME] [SCOPE]"),
    _Command("mouse", "turn mouse support on or off", "[on|off] [SCOPE]"),
    _Command("thinking", "show the model's thinking as it streams, or only that it thinks", "[on|off]"),
    _Command("vim", "edit the prompt with vim's keys, or as usual", "[on|off] [SCOPE]"),
    _Command("keys", "show the keys, and how to change them"),
    _Command("config", "see and change every setting", "[NAME] [VALUE] [SCOPE]"),
    _Command("doctor", "check this machine's setup"),
    _Command("setup", "set up a provider, API key and model"),
    _Command("quit", "quit (the session is saved)", aliases=("exit",)),
)

_BY_NAME = {name: command for command in SLASH_COMMANDS for name in (command.name, *command.aliases)}


class SlashInput(msgspec.Struct, frozen=True):
    """A typed command; `rest` is what follows its name, stripped."""

    command: _Command
    rest: str


def screen_command(typed: Slash, added: Iterable[str]) -> SlashInput | None:
    """Return the command of the screen that was typed; None for one of those that the host runs (`added`).

    Raise `UsageError` for an unknown command, or for arguments that the command does not take.
    """
    command = _BY_NAME.get(typed.name)
    if command is None:
        if typed.name in (others := tuple(added)):
            return None
        near = difflib.get_close_matches(typed.name, (*_BY_NAME, *others), n=1)
        hint = f"Did you mean /{near[0]}?" if near else "See /help."
        raise UsageError(f"No command /{literal(typed.name)}. {hint} To send it as a prompt, begin with a space.")
    if typed.rest and not command.arguments:
        raise UsageError(f"/{command.name} takes no arguments.")
    return SlashInput(command, typed.rest)


class Match(msgspec.Struct, frozen=True):
    """A command that completes the typed text, and the one of its names that matches."""

    command: _Command
    name: str

    @property
    def names(self) -> str:
        """Return all its names, the matching one first, and its arguments."""
        names = dict.fromkeys((self.name, self.command.name, *self.command.aliases))
        return f"{', '.join(f'/{name}' for name in names)} {self.command.arguments}".strip()


def match_slash_commands(text: str) -> tuple[Match, ...]:
    """Return the commands with a name that begins with `text`, a full name first; all of them for a lone `/`."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return ()
    typed = text[1:]
    prefix_matches: list[Match] = []
    inner_matches: list[Match] = []
    for command in SLASH_COMMANDS:
        name = next((name for name in (command.name, *command.aliases) if name.startswith(typed)), "")
        if name:
            prefix_matches.append(Match(command, name))
        elif typed in command.name:
            inner_matches.append(Match(command, command.name))
    return (*sorted(prefix_matches, key=lambda match: match.name != typed), *inner_matches)
