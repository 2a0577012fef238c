"""Tools that come from elsewhere than holdfast, as a toolbox sees them: of MCP servers, plug-ins, programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from holdfast.tool_calls import ToolSchema
from holdfast.tools.tool import Instruction, Tool

if TYPE_CHECKING:
    from holdfast.tools.mcp.server_state import ServerState


class Skills(Protocol):
    """The skills and commands that people bring along, as a toolbox sees them."""

    def tool(self, schema: ToolSchema) -> Tool:
        """Return the tool that reads a skill."""
        ...

    def catalogue(self) -> tuple[Instruction, ...]:
        """Return the catalogue as instructions, nothing if there is no skill. Never raises."""
        ...


class ToolSource(Protocol):
    """A source of tools. Making one starts and connects to nothing; use it from one event loop."""

    def owns(self, name: str) -> bool:
        """Return whether a declared tool of this name, which is none of holdfast's own, is one of this source."""
        ...

    def tools(self, declared: Sequence[ToolSchema]) -> Mapping[str, Tool]:
        """Return the tools that the session declared of this source, by name."""
        ...

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return what the next turn declares in place of `declared`: the same if nothing changed. Asks no server."""
        ...

    def reports(self) -> Mapping[str, str]:
        """Return why each part of the source failed that was needed last, "" for one that works. Asks none."""
        ...

    async def expand(self, typed: str) -> str:
        """Return the text of the prompt that a typed command of this source names.

        Raises `UsageError`, or `ToolFailed`, also if `stop_waiting` is called.
        """
        ...

    async def states(self) -> tuple[ServerState, ...]:
        """Return the state of each part. Starts none."""
        ...

    async def restart(self, server: str) -> None:
        """Start a part again; raises `ToolFailed`, `UsageError` for an unknown one. `stop_waiting` stops the wait."""
        ...

    def stop_waiting(self) -> None:
        """Stop waiting for a prompt, or for a restart."""
        ...

    async def close(self) -> None:
        """End all that was started."""
        ...
