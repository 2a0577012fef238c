"""What a host drives, and what its surface wants: the surfaces differ in these rules and in nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from holdfast.errors import UsageError
from holdfast.session.journal.causes import Cause
from holdfast.session.journal.store import Reading
from holdfast.text import error_text
from holdfast.tool_calls import Mode

if TYPE_CHECKING:
    from holdfast.agent.seam import SubmitPrompt
    from holdfast.host.brought_commands import BroughtCommands
    from holdfast.host.kept_files import KeptFiles
    from holdfast.host.plugins.contributions import PluginSlashCommand
    from holdfast.tools.mcp.prompt_commands import ServerPrompt
    from holdfast.tools.mcp.server_state import ServerState
    from holdfast.undo.session_undo import SessionUndo

Surface = Literal["screen", "print", "stream", "plain", "editor", "server", "fleet", "library"]


LAST_CAUSES: frozenset[Cause] = frozenset({"max_cost", "signal", "output", "external", "storage", "bug"})
"""Causes of an end after which no further turn can run."""


class HostRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a surface wants. `asks_user`: a user can be asked. `place` names it in messages.

    `titles` are written and a turn begins when a task has ended (`wake`), if that is configured. `held_messages` is
    what becomes of queued messages that a stopped turn did not reach: they return to the user, stay queued, or are
    sent nevertheless, in order. `second` is what a prompt does while a turn runs. `interprets` is how much of a
    `Typed` text may be a command: with `known`, a slash command that does not exist is a prompt. With `leaves`, a
    slash command may leave the session. With `repeats`, the prompt of a turn whose question an earlier process left
    open asks that question again when it is sent again. With `undo`, what files were before a call is kept. With
    `asks_before`, the user can also be asked before a turn, where the journal has no question: about a command in a
    prompt.
    """

    asks_user: bool
    place: str = "this session"
    held_messages: Literal["return", "keep", "send"] = "keep"
    titles: bool = True
    wake: bool = False
    second: Literal["queue", "stop"] = "queue"
    interprets: Literal["all", "known", "slash", "nothing"] = "nothing"
    leaves: bool = True
    repeats: bool = False
    undo: bool = True
    asks_before: bool = True


RULES_OF: Mapping[Surface, HostRules] = {
    "screen": HostRules(asks_user=True, held_messages="return", wake=True, interprets="all"),
    "print": HostRules(asks_user=False, titles=False),  # its one turn ends the run: a title would be paid for and lost
    "stream": HostRules(asks_user=False, held_messages="send"),
    "plain": HostRules(asks_user=True, place="plain mode", wake=True, interprets="all"),
    "editor": HostRules(
        asks_user=True,
        place="an editor",
        wake=True,
        second="stop",
        interprets="known",
        leaves=False,  # the editor opens and closes its sessions
        repeats=True,
    ),
    "server": HostRules(asks_user=True, wake=True, interprets="slash", asks_before=False),
    "fleet": HostRules(asks_user=True, undo=False, asks_before=False),  # its database must never hold the files
    "library": HostRules(asks_user=True, titles=False),
}
"""The rules of each surface."""


class SessionTools(Protocol):
    """What a host needs of the tools of its session."""

    async def expand_prompt(self, typed: str) -> str:
        """Return the text of a server's prompt that `typed` names, else `typed`. Waits for a server only."""
        ...

    def stop_waiting(self) -> None:
        """Stop waiting for servers."""
        ...

    async def restart_server(self, server: str) -> None:
        """Start an MCP server again."""
        ...

    async def server_states(self) -> tuple[ServerState, ...]:
        """Return the states of the MCP servers."""
        ...


def bug_in_short(error: BaseException) -> str:
    """Return the kind and the message of an exception."""
    return error_text(error)


NO_HOOKS = (
    "No hook is configured.",
    "Hooks are read from [hooks] in config.toml, ~/.claude/settings.json, and the project's .claude/settings.json.",
)
"""What /hooks shows if there are none."""


class HostedSession(msgspec.Struct, frozen=True, kw_only=True):
    """The open session of a host. `reading` is its journal when it was opened, `tools` are the names of its tools.

    `usable` raises `ModelUnusable` for a model that cannot be used. `sandbox_line` says which sandbox confines commands
    in an approval mode; it may block. `greeting` are the first lines of /help. `slash_commands` are those of plug-ins.
    `server_prompts` returns the prompts of MCP servers that are known now. `kept_files` is the undo of files,
    `own_tests` are commands that the user calls test runs, `brought` are the skills and commands that people bring,
    `submit_prompt` are the steps that see each prompt, `hook_lines` those of /hooks.
    `describe_bug` returns a sentence about an exception that is no `HoldfastError`: only the surface knows where it
    keeps the traceback.
    """

    id: str
    cwd: Path
    toolbox: SessionTools
    reading: Reading
    tools: tuple[str, ...] = ()
    usable: Callable[[str], object] = str
    sandbox_line: Callable[[Mode], str] = str
    greeting: tuple[str, ...] = ()
    server_prompts: Callable[[], tuple[ServerPrompt, ...]] = tuple
    kept_files: KeptFiles | None = None
    own_tests: tuple[str, ...] = ()
    submit_prompt: tuple[SubmitPrompt, ...] = ()
    hook_lines: Callable[[], tuple[str, ...]] = lambda: NO_HOOKS
    describe_bug: Callable[[BaseException], str] = bug_in_short
    brought: BroughtCommands | None = None
    slash_commands: Mapping[str, PluginSlashCommand] = msgspec.field(default_factory=dict[str, "PluginSlashCommand"])

    def needs_undo(self) -> SessionUndo:
        """Return the undo of files; raises `UsageError` if the session has none."""
        if self.kept_files is None:
            raise UsageError("Nothing was undone: this session keeps no files. Set undo = true, and begin a new turn.")
        return self.kept_files.undo
