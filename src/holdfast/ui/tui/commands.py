"""The slash commands: their names, what each takes and does, and how a line that begins with `/` is read. Pure."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from holdfast.errors import UsageError

Name = Literal[
    "help",
    "new",
    "resume",
    "rewind",
    "fork",
    "rename",
    "model",
    "permissions",
    "compact",
    "uncompact",
    "export",
    "diff",
    "copy",
    "status",
    "cost",
    "context",
    "theme",
    "config",
    "doctor",
    "setup",
    "quit",
]


@dataclass(frozen=True, slots=True)
class Command:
    """One command: `takes` names what may follow it, "" if nothing."""

    name: Name
    does: str
    takes: str = ""
    aliases: tuple[str, ...] = ()


COMMANDS: tuple[Command, ...] = (
    Command("help", "keys and commands"),
    Command("new", "begin a new session; this one is kept", aliases=("clear",)),
    Command("resume", "go on with another session", "[ID]", ("sessions",)),
    Command("rewind", "go back to an earlier prompt and edit it", aliases=("undo",)),
    Command("fork", "go on in a copy; this session stays as it is"),
    Command("rename", "give this session a title", "TITLE"),
    Command("model", "use another model from here on", "[PROVIDER:MODEL]"),
    Command("permissions", "what may run without asking", "[MODE]"),
    Command("compact", "sum up what is older in the conversation", "[WHAT TO KEEP]"),
    Command("uncompact", "send again what was last summed up"),
    Command("export", "write the conversation to a file", "[FORM] [FILE]"),
    Command("diff", "what has changed in this folder, by git"),
    Command("copy", "copy the last answer"),
    Command("status", "session, model, folder, versions"),
    Command("cost", "tokens and money so far"),
    Command("context", "how full the model's window is"),
    Command("theme", "other colours", "[NAME]"),
    Command("config", "every setting, and where it comes from"),
    Command("doctor", "what could be wrong here, and what to do about it"),
    Command("setup", "a provider, its key and a model, by questions"),
    Command("quit", "leave; the session is kept", aliases=("exit",)),
)

_BY_NAME = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}


@dataclass(frozen=True, slots=True)
class Line:
    """A command as it was typed; `rest` is what follows its name, stripped."""

    command: Command
    rest: str


def parse(text: str) -> Line | None:
    """Return the command that `text` is, None if it is none: a path, say, or several lines.

    Raises `UsageError` for a command that does not exist, or that is given what it does not take.
    """
    if not text.startswith("/") or "\n" in text.strip():
        return None
    name, _, rest = text.strip()[1:].partition(" ")
    rest = rest.strip()
    if "/" in name:
        return None
    command = _BY_NAME.get(name)
    if command is None:
        near = difflib.get_close_matches(name, _BY_NAME, n=1)
        hint = f"Did you mean /{near[0]}?" if near else "See /help."
        raise UsageError(f"Command {'/' + name!r} does not exist, one of those in /help was expected. {hint}")
    if rest and not command.takes:
        raise UsageError(f"Command {'/' + command.name!r} takes nothing, no {rest!r} was expected. Leave it out.")
    return Line(command, rest)


def matching(text: str) -> tuple[Command, ...]:
    """Return the commands that `text`, the beginning of a line, may become; all of them for a lone `/`."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return ()
    begun = text[1:]
    starts = [command for command in COMMANDS if any(n.startswith(begun) for n in (command.name, *command.aliases))]
    holds = [command for command in COMMANDS if begun in command.name and command not in starts]
    return (*starts, *holds)
