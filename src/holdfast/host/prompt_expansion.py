"""Makes the text of a prompt of what was typed or sent, before it is journalled: the step `expand_prompt` of the seam.

Besides the registered steps, it knows `/init`, whose prompt is a file of holdfast, and the prompts of MCP servers.

Interruption rules: nothing is journalled while it lasts. A stop, the end of the session or a kill leaves nothing; what
was typed returns to the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from holdfast.agent.seam import EXPAND_PROMPT, Expanded, ExpandPrompt
from holdfast.errors import ToolFailed, UsageError
from holdfast.host.hosted_session import SessionTools

EXPANSION_ENDS = 1.0
"""Seconds that a stopped expansion has to say why it ended; then it is cancelled."""


class PromptExpansion:
    """`/init`, the registered steps, and behind them the prompts of MCP servers."""

    def __init__(self, steps: tuple[ExpandPrompt, ...], tools: SessionTools) -> None:
        self._steps = (*steps, self._own_prompt)
        self._tools = tools
        self._work: asyncio.Future[Expanded] | None = None

    async def expanded(self, text: str, *, stopped: bool) -> Expanded:
        """Return what the first step makes of the text, in bounded time. Nothing is awaited for one that none expands.

        Raises `UsageError`, if it is `stopped` too, or `ToolFailed`; then nothing is sent.
        """
        waits = (step(text) for step in self._steps)
        wait = next((wait for wait in waits if wait is not None), None)
        if wait is None:
            return Expanded(text)
        work = self._work = asyncio.ensure_future(wait)
        if stopped:
            work.cancel()
        try:
            await asyncio.wait({work}, timeout=EXPAND_PROMPT)
            if not work.done():
                raise ToolFailed(f"The prompt was not made within {EXPAND_PROMPT:g} s. Nothing was sent. Try it again.")
            if work.cancelled():
                raise UsageError("The prompt was stopped before its text was made. Nothing was sent.")
            return work.result()
        finally:
            self._work = None
            work.cancel()

    def stop(self) -> None:
        """End the wait: a server's says why it ended, any other is cancelled."""
        self._tools.stop_waiting()
        if (work := self._work) is not None:
            asyncio.get_running_loop().call_later(EXPANSION_ENDS, work.cancel)

    def _own_prompt(self, text: str) -> Awaitable[Expanded] | None:
        """Return the prompt of `/init`, or of a server; None for any other text."""
        name, _, rest = text.strip().partition(" ")
        if name == "/init":
            return _init_prompt(rest.strip())
        return self._of_server(text) if text.startswith("/mcp__") else None

    async def _of_server(self, text: str) -> Expanded:
        return Expanded(await self._tools.expand_prompt(text))


async def _init_prompt(wish: str) -> Expanded:
    """Return the prompt of `/init`, a file of holdfast; `wish` is what the user adds."""
    text = Path(__file__).with_name("init_prompt.md").read_text("utf-8").strip()
    return Expanded(f"{text}\n\nThe user adds: {wish}" if wish else text, cause="init")
