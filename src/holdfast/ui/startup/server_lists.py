"""Asks MCP servers for their tools while the user types the first prompt. Nothing waits long for the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.ui.startup.run_options import RunOptions

if TYPE_CHECKING:
    from holdfast.tools.mcp.connections import McpSettings

LIST_WAIT = 1.8
"""Seconds that a new session waits for missing lists: its first request may be delayed by 2 s in all."""

_WITHIN = 120.0  # seconds that a server may take: some are downloaded first


class ServerLists:
    """The lists of servers whose tools are not known yet. Use it from the agent's loop."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._task: asyncio.Task[None] | None = None
        self._waited = False
        self.failures: dict[str, str] = {}
        """Why servers could not be asked, by their names."""

    async def begin(self) -> None:
        """Begin to ask, if a server is configured."""
        if self._options.mcp is not None:
            self._task = asyncio.create_task(self._ask(self._options.mcp), name="mcp lists")

    async def _ask(self, settings: McpSettings) -> None:
        from holdfast.tools.mcp.connections import ask_servers, unknown_servers

        new = unknown_servers(settings)
        if new.servers:
            with suppress(OSError):  # no folder for it: the session finds the tools on demand
                answers = await ask_servers(new, cwd=self._options.cwd, within=_WITHIN)
                self.failures = {name: answer for name, answer in answers.items() if isinstance(answer, str)}

    async def wait(self) -> None:
        """Wait once, shortly, for the lists that a new session declares. A resumed session has them already."""
        if self._task is not None and not self._waited and self._options.resumed is None:
            self._waited = True
            await asyncio.wait({self._task}, timeout=LIST_WAIT)

    def when_known(self, act: Callable[[], object]) -> None:
        """Call `act` once the servers have answered, unless asking was cancelled or was not needed."""
        if self._task is not None:
            self._task.add_done_callback(lambda task: task.cancelled() or act())

    async def close(self, *, leaving: bool) -> None:
        """Stop asking, and end the servers being asked, if the user is `leaving`."""
        if self._task is not None and leaving:
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=LIST_WAIT)
