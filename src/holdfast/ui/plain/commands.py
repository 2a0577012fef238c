"""The slash commands of the plain mode: those that need no screen, each answered in lines of text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import msgspec

from holdfast.agent.agent import Agent
from holdfast.errors import UsageError
from holdfast.session.journal.model_settings import EFFORTS
from holdfast.system.threads import in_daemon
from holdfast.text import literal
from holdfast.tool_calls import Mode, SandboxMode
from holdfast.ui.view.sentences import settings_text

PLAIN_COMMANDS = {
    "help": "list the commands",
    "new": "start a new session (this one is saved)",
    "model": "switch model: /model PROVIDER:MODEL",
    "effort": "set how much the model reasons: /effort LEVEL, or default",
    "permissions": "set what runs without asking: /permissions MODE",
    "rename": "set the title of this session: /rename TITLE",
    "compact": "summarize older messages to free context",
    "uncompact": "undo the last compaction",
    "status": "show session, model, mode, cost and sandbox",
    "quit": "quit (the session is saved)",
}
"""The commands, each with a description."""

ALIASES = {"clear": "new", "exit": "quit", "mode": "permissions", "cost": "status"}

HELP = (
    "Type a prompt and press Enter. While a turn runs, a line steers it.",
    "Ctrl+C stops the turn. Press it again, or twice at the prompt, to quit. Ctrl+D quits.",
    "!COMMAND runs a shell command; !!COMMAND also shares its output with the model. A \\ at the end continues a line.",
)


def is_command(text: str) -> bool:
    """Return whether a line is a command: not a path, not several lines, not the prompt of a server."""
    name, *_ = text.split(maxsplit=1) or [""]
    server = name.startswith("/mcp__")
    return name.startswith("/") and "/" not in name[1:] and "\n" not in text and not server


class Departure(msgspec.Struct, frozen=True):
    """The user's request to leave this session; with `renew`, for a new one."""

    renew: bool = False


class Commands:
    """Runs the commands of one session; `usable` raises if a model cannot be used."""

    def __init__(
        self, agent: Agent, session: str, *, usable: Callable[[str], object], sandbox: SandboxMode, cwd: Path
    ) -> None:
        self._agent = agent
        self._sandbox: SandboxMode = sandbox
        self._session = session
        self._cwd = cwd
        self._usable = usable

    async def run(self, line: str) -> Departure | list[str]:
        """Run a command. Return the lines to print, or a `Departure`. Raise `HoldfastError`."""
        name, _, rest = line[1:].strip().partition(" ")
        name, rest = ALIASES.get(name, name), rest.strip()
        match name:
            case "help":
                return [*HELP, *(f"/{name}: {does}" for name, does in PLAIN_COMMANDS.items())]
            case "new" | "quit":
                return Departure(renew=name == "new")
            case "compact":
                compacted = await self._agent.compact(rest)
                return [] if compacted is None else ["Compacted."]
            case "uncompact":
                await self._agent.uncompact()
                return ["Compaction undone."]
            case "status":
                return [*self._status(), f"Sandbox {await in_daemon(self._sandbox_line)}."]
            case "model" | "effort" | "permissions" | "rename":
                return self._choose(name, rest)
            case _:
                raise UsageError(f"Unknown command {'/' + name!r} in plain mode. See /help.")

    def _choose(self, name: str, rest: str) -> list[str]:
        agent = self._agent
        match name:
            case "model" if rest:
                self._usable(rest)
                agent.use_model(rest)
                return []
            case "effort" if rest in (*EFFORTS, "default"):
                effort = next((each for each in EFFORTS if each == rest), None)
                settings = msgspec.structs.replace(agent.conversation.settings, effort=effort)
                agent.use_settings(settings)
                return [settings_text(settings)]
            case "permissions" if rest:
                modes: tuple[Mode, ...] = get_args(Mode)
                mode: Mode | None = next((each for each in modes if each == rest), None)
                if mode is None:
                    raise UsageError(f"Unknown mode {rest!r} (expected one of {', '.join(modes)}).")
                agent.mode = mode
                return [f"Mode: {mode}."]
            case "rename" if rest:
                agent.rename(rest)
                return [f'Renamed to "{literal(rest)}".']
            case _:
                return list(self._expected(name))

    def _expected(self, name: str) -> Iterator[str]:
        now: dict[str, str] = {
            "model": self._agent.conversation.chosen_model,
            "effort": str(self._agent.conversation.settings.effort or "default"),
            "permissions": self._agent.mode,
        }
        if name in now:
            yield f"Now: {now[name]}."
        if name == "effort":
            yield f"Levels: {', '.join((*map(str, EFFORTS), 'default'))}."
        if name == "permissions":
            yield f"Modes: {', '.join(get_args(Mode))}."
        yield PLAIN_COMMANDS[name]

    def _sandbox_line(self) -> str:
        from holdfast.ui.view.sandbox_line import tried_sandbox_line

        return tried_sandbox_line(self._sandbox, self._agent.mode, os.environ, self._cwd)

    def _status(self) -> Iterator[str]:
        conversation = self._agent.conversation
        yield f"Session {self._session}, {conversation.turns} turns."
        yield f"Model {conversation.chosen_model}. Mode {self._agent.mode}."
        usage = conversation.usage
        cost = "unknown" if usage.cost is None else f"${float(usage.cost):.2f}"
        yield f"Tokens: {usage.input_tokens:,} in, {usage.output_tokens:,} out. Cost: {cost}."
