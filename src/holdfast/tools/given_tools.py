"""Tools that are there from the start: those of plug-ins and of a program, as a source of a toolbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from holdfast.errors import UsageError
from holdfast.tool_calls import SKILL_TOOL, ToolSchema
from holdfast.tools.tool import Tool

if TYPE_CHECKING:
    from holdfast.tools.mcp.server_state import ServerState


class GivenTools:
    """A `ToolSource` of values: it starts nothing, waits for nothing and ends nothing."""

    def __init__(self, by_name: Mapping[str, Tool]) -> None:
        self._by_name = by_name

    def owns(self, name: str) -> bool:
        """Return whether the tool is none of a server, nor of skills: also one whose plug-in is gone is its own."""
        return not name.startswith("mcp_") and name != SKILL_TOOL

    def tools(self, declared: Sequence[ToolSchema]) -> Mapping[str, Tool]:
        """Return the declared tools that are there."""
        return {each.name: self._by_name[each.name] for each in declared if each.name in self._by_name}

    def redeclare(self, declared: tuple[ToolSchema, ...]) -> tuple[ToolSchema, ...]:
        """Return the declared tools that are there, as they are now."""
        return tuple(self._by_name[each.name].schema for each in declared if each.name in self._by_name)

    def reports(self) -> Mapping[str, str]:
        """Return nothing: it has no parts that fail."""
        return {}

    async def expand(self, typed: str) -> str:
        """Return what was typed: it has no prompts."""
        return typed

    async def states(self) -> tuple[ServerState, ...]:
        """Return nothing: it has no servers."""
        return ()

    async def restart(self, server: str) -> None:
        """Raise `UsageError`: it has no servers."""
        raise UsageError(f"Unknown MCP server {server!r} (expected one of none). See /mcp.")

    def stop_waiting(self) -> None:
        """Do nothing: it waits for nothing."""

    async def close(self) -> None:
        """Do nothing: it started nothing."""
