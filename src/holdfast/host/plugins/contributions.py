"""What a plug-in registers: values of these types, in the lists of its module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from holdfast.history.formats.format import Format
from holdfast.history.profiles import ANY
from holdfast.history.rules.profile import Profile
from holdfast.host.commands import Command, Compact, Prompt, Rename, Submission
from holdfast.host.events import HostEvent, Opened
from holdfast.providers.catalog import Provider
from holdfast.providers.model import Model
from holdfast.providers.registry import ModelEndpoint
from holdfast.tool_calls import Mode
from holdfast.tools.tool import Tool

PLUGIN_VERSION = 1
"""The number that `holdfast_plugin` must have."""


class SlashFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a slash command of a plug-in may read of its session."""

    session: str
    cwd: Path
    model: str
    mode: Mode
    turns: int
    input_tokens: int
    output_tokens: int


class Said(msgspec.Struct, frozen=True):
    """The answer of a slash command: `lines` to show, and a `command` for the host, None for none."""

    lines: tuple[str, ...] = ()
    command: Prompt | Rename | Compact | None = None


class PluginSlashCommand(msgspec.Struct, frozen=True):
    """A slash command: `run` gets the facts of the session and the rest of the line. It runs on a thread."""

    name: str
    summary: str
    run: Callable[[SlashFacts, str], Said]


class PluginCommand(msgspec.Struct, frozen=True):
    """A command of the command line: `main` gets its words and the environment, and returns the exit code."""

    name: str
    summary: str
    main: Callable[[list[str], Mapping[str, str]], int]


class SurfaceHost(Protocol):
    """The host of a session as a surface of a plug-in sees it: commands go in, events come out."""

    def submit(self, command: Command) -> Submission:
        """Take a command and return at once; await what is returned for its result."""
        ...

    def listen(self, emit: Callable[[HostEvent], None]) -> None:
        """Send the client everything from now on, first what it has missed. `emit` must not block or raise."""
        ...

    def opened(self) -> Opened:
        """Return the session as it is now, with its conversation."""
        ...


class SurfaceHosts(Protocol):
    """What a surface of a plug-in opens sessions with: the user's own, by the user's rules, in their folder."""

    def open(
        self,
        *,
        asks_user: bool,
        reads_commands: bool = False,
        model: str = "",
        resume: str = "",
        mode: Mode | None = None,
    ) -> AbstractAsyncContextManager[SurfaceHost]:
        """Return the host of a session: a new one, or the one that `resume` names; it is closed when it is left.

        `asks_user` is whether a user answers questions, `reads_commands` whether `Typed` text may be a slash command.
        The model and the mode are the user's if none is named. Raises as `holdfast.open_session` does.
        """
        ...


class PluginSurface(msgspec.Struct, frozen=True):
    """A command that drives sessions by itself: `drive` gets its words and what opens sessions."""

    name: str
    summary: str
    drive: Callable[[list[str], SurfaceHosts], int]


class Contributions(msgspec.Struct, frozen=True, kw_only=True):
    """All that one plug-in adds."""

    tools: tuple[Tool, ...] = ()
    slash_commands: tuple[PluginSlashCommand, ...] = ()
    commands: tuple[PluginCommand, ...] = ()
    providers: tuple[Provider, ...] = ()
    formats: tuple[Format, ...] = ()
    surfaces: tuple[PluginSurface, ...] = ()


def own_provider(
    name: str, open_model: Callable[[ModelEndpoint], Model], *, profile: Profile = ANY, key_variable: str | None = None
) -> Provider:
    """Return a provider whose models a function makes; conversations for it keep the rules of `profile`.

    Without a `profile` they keep the strictest one. `key_variable` names the environment variable with its key.
    """
    return Provider(name=name, kind="openai-chat", profile=profile, key_variable=key_variable, opener=open_model)
