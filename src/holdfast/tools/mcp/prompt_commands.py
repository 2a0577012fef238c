"""The prompts of MCP servers as commands that a user types: `/mcp__SERVER__PROMPT ARGUMENTS`. Pure.

Arguments are words in the order of the prompt's own, quoted as in a shell, or `NAME=VALUE`. The last argument takes the
rest of the line, so that a sentence needs no quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from holdfast.errors import UsageError
from holdfast.text import literal
from holdfast.tools.mcp.stored_tools import ListedPrompt, ToolList
from holdfast.tools.mcp.tool_names import PREFIX, model_name, server_of

PROMPT_COMMAND = f"/{PREFIX}"
"""The prefix of these commands."""

_COMMAND = re.compile(r"/(\S+)\s*(.*)", re.DOTALL)
_WORD = re.compile(r"""([^\s"']*)("[^"]*"|'[^']*')(?=\s|$)""")


class ServerPrompt(msgspec.Struct, frozen=True):
    """A prompt of a server: `name` is typed behind the slash."""

    name: str
    server: str
    prompt: ListedPrompt

    @property
    def takes(self) -> str:
        """Return its arguments as they are shown, "" if it has none."""
        return " ".join(
            each.name.upper() if each.required else f"[{each.name.upper()}]" for each in self.prompt.arguments
        )

    @property
    def usage(self) -> str:
        """Return the command with its arguments."""
        return f"/{self.name} {self.takes}".rstrip()

    @property
    def does(self) -> str:
        """Return one line about it."""
        first_line = next(iter(self.prompt.description.strip().splitlines()), "")
        return first_line or f"prompt {self.prompt.name} of {self.server}"


def prompt_commands(server: str, prompts: Iterable[ListedPrompt]) -> tuple[ServerPrompt, ...]:
    """Return the commands of a server's prompts. Of those that would have one name, only the first has it."""
    named: dict[str, ServerPrompt] = {}
    for each in sorted(prompts, key=lambda prompt: prompt.name):
        name = model_name(server, each.name)
        named.setdefault(name, ServerPrompt(name, server, each))
    return tuple(named.values())


def known_commands(lists: Mapping[str, ToolList | None]) -> tuple[ServerPrompt, ...]:
    """Return the commands of the servers whose lists are known."""
    return tuple(
        command
        for server, listed in sorted(lists.items())
        if listed is not None
        for command in prompt_commands(server, listed.prompts)
    )


class TypedCommand(msgspec.Struct, frozen=True):
    """What was typed: the `name` of a command of the server `server`, and the `words` behind it."""

    name: str
    server: str
    words: str


def typed_command(text: str, servers: Iterable[str]) -> TypedCommand:
    """Return the command in a text that begins as one; raises `UsageError` if no server has such a name."""
    found = _COMMAND.fullmatch(text.strip())
    name, words = (found[1], found[2]) if found is not None else (text.strip()[1:], "")
    known = sorted(servers)
    server = server_of(name, known)
    if not server:
        expected = f"configured: {', '.join(known)}" if known else "none is configured"
        raise UsageError(f"No command /{literal(name)}: no MCP server is called so ({expected}). See /mcp.")
    return TypedCommand(name, server, words.strip())


def chosen_prompt(typed: TypedCommand, listed: ToolList) -> ServerPrompt:
    """Return the prompt that a command names; raises `UsageError` if the server does not list it."""
    offered = prompt_commands(typed.server, listed.prompts)
    for each in offered:
        if each.name == typed.name:
            return each
    names = ", ".join(f"/{each.name}" for each in offered[:10]) or "no prompts"
    raise UsageError(f"No command /{literal(typed.name)}: MCP server {typed.server!r} offers {names}. See /mcp.")


def prompt_arguments(command: ServerPrompt, words: str) -> dict[str, str]:
    """Return the arguments for a prompt; raises `UsageError` if one is missing, or there are too many."""
    names = [each.name for each in command.prompt.arguments]
    arguments: dict[str, str] = {}
    if not names and words:
        raise UsageError(f"/{command.name} takes no arguments.")
    rest = words
    while rest:
        open_ = [name for name in names if name not in arguments]
        if not open_:
            raise UsageError(f"Too many arguments. Usage: {command.usage}")
        word, after = _first_word(rest)
        name, equals, value = word.partition("=")
        if equals and name in open_:
            arguments[name], rest = value, after
        elif len(open_) == 1:
            arguments[open_[0]], rest = (word if not after else rest), ""
        else:
            arguments[open_[0]], rest = word, after
    missing = [each.name for each in command.prompt.arguments if each.required and each.name not in arguments]
    if missing:
        raise UsageError(f"Argument {missing[0]!r} is missing. Usage: {command.usage}")
    return arguments


def _first_word(text: str) -> tuple[str, str]:
    """Return the first word without its quotes, and what follows it. A quote that is not closed is a letter."""
    found = _WORD.match(text)
    if found is None:
        word, *after = text.split(maxsplit=1)
        return word, "".join(after)
    return f"{found[1]}{found[2][1:-1]}", text[found.end() :].strip()
