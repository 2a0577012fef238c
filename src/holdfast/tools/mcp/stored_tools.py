"""The tools that MCP servers listed before, on disk: a new session declares them without starting a server.

A list is found by the digest of the server's definition, so all projects with the same server share it. A file that
cannot be read counts as missing: the server is asked again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import make_folder, replace_file
from holdfast.tools.mcp.server_definition import McpServer
from holdfast.tools.mcp.tool_names import ListedTool
from holdfast.typed_data import decode_json

LARGEST_TOOL_LIST = 32 * 1024 * 1024
"""Bytes of a stored list."""


class PromptArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a server's prompt."""

    name: str
    required: bool = False


class ListedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that a server offers to the user."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class UnusableTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that a server lists and that cannot be used, and why."""

    name: str
    why: str


class ToolList(msgspec.Struct, frozen=True, kw_only=True):
    """What a server offered when it was last connected; `resources` is whether it has any to read."""

    tools: tuple[ListedTool, ...] = ()
    unusable: tuple[UnusableTool, ...] = ()
    version: str = ""
    protocol: str = ""
    prompts: tuple[ListedPrompt, ...] = ()
    resources: bool = False
    instructions: str = ""


class StoredTools:
    """The lists in `folder`, which need not exist. A server may list more if it may ask a user (`can_ask_user`)."""

    def __init__(self, folder: Path, *, can_ask_user: bool = False) -> None:
        self._folder = folder
        self._suffix = "-asks" if can_ask_user else ""

    def get(self, server: McpServer) -> ToolList | None:
        """Return what the server listed last, None if unknown. Never raises."""
        with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
            return decode_json(read_bounded(self._path(server), LARGEST_TOOL_LIST), ToolList)
        return None

    def all(self, servers: Iterable[McpServer]) -> dict[str, ToolList | None]:
        """Return what each of the servers listed last, by its name."""
        return {each.name: self.get(each) for each in servers}

    def put(self, server: McpServer, listed: ToolList) -> None:
        """Store what the server lists. Never raises: without it, the server is asked again."""
        with contextlib.suppress(OSError):
            if self.get(server) != listed:
                make_folder(self._folder)
                replace_file(self._path(server), msgspec.json.encode(listed))

    def _path(self, server: McpServer) -> Path:
        return self._folder / f"{server.digest[:32]}{self._suffix}.json"
