"""Asks MCP servers for their tools outside a session, so that the next session can declare them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.durable_files import make_folder
from holdfast.tools.mcp.connections import McpConnections, McpSettings
from holdfast.tools.mcp.stored_tools import ToolList


async def ask_servers(settings: McpSettings, *, cwd: Path, within: float) -> Mapping[str, ToolList | str]:
    """Start each server, store its list of tools and end it again; return the lists, or why there is none.

    Takes up to `within` seconds. Raises `OSError` if no folder for it can be made.
    """
    make_folder(settings.lists)
    with tempfile.TemporaryDirectory(prefix="ask-", dir=settings.lists, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        connections = McpConnections(settings, folder=folder, spool=folder, root=cwd)
        stop = asyncio.Event()
        timer = asyncio.get_running_loop().call_later(within, stop.set)

        async def ask(server: str) -> ToolList | str:
            try:
                return await connections.listed(server, stop)
            except ToolFailed as failed:
                if stop.is_set():
                    settings.known.failed(server, f"It did not answer within {within:g} s.")
                return str(failed)

        try:
            answers = await asyncio.gather(*(ask(each.name) for each in settings.servers))
            return {server.name: answer for server, answer in zip(settings.servers, answers, strict=True)}
        finally:
            timer.cancel()
            await connections.close()


def unknown_servers(settings: McpSettings) -> McpSettings:
    """Return the settings with only those servers whose tools are not known yet."""
    servers = tuple(each for each in settings.servers if settings.stored.get(each) is None)
    return msgspec.structs.replace(settings, servers=servers)
