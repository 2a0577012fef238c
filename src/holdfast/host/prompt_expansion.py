"""Makes the text of a prompt of what was typed or sent, before it is journalled: the step `expand_prompt` of the seam.

Besides the registered steps, it knows `/init`, whose prompt is a file of holdfast, and the prompts of MCP servers.

Interruption rules: nothing is journalled while it lasts. A stop, the end of the session or a kill leaves nothing; what
was typed returns to the user.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from holdfast.agent.seam import EXPAND_PROMPT, SUBMIT_PROMPT, Expanded, ExpandPrompt, SubmitPrompt
from holdfast.errors import ToolFailed, UsageError
from holdfast.host.hosted_session import SessionTools

EXPANSION_ENDS = 1.0
"""Seconds that a stopped expansion has to say why it ended; then it is cancelled."""


class PromptExpansion:
    """`/init`, the registered steps, and behind them the prompts of servers; then what sees each prompt (`submit`)."""

    def __init__(
        self, steps: tuple[ExpandPrompt, ...], tools: SessionTools, submit: tuple[SubmitPrompt, ...] = ()
    ) -> None:
        self._steps = (*steps, self._own_prompt)
        self._submit = submit
        self._tools = tools
        self._work: asyncio.Future[Expanded] | None = None

    async def expanded(self, text: str, *, stopped: bool, is_new: bool = True) -> Expanded:
        """Return what the first step makes of the text, in bounded time. Nothing is awaited for one that none expands.

        A prompt that was sent before, and is not new, is only expanded. Raises `UsageError`, if it is `stopped` too, or
        `ToolFailed`; then nothing is sent.
        """
        waits = (step(text) for step in self._steps)
        wait = next((wait for wait in waits if wait is not None), None)
        submit = self._submit if is_new and text.strip() else ()
        if wait is None and not submit:
            return Expanded(text)
        within = EXPAND_PROMPT + (SUBMIT_PROMPT if submit else 0.0)
        making = None if wait is None else asyncio.ensure_future(wait)  # it ends also if what waits for it never starts
        if making is not None and not submit:
            work = making
        else:
            work = asyncio.ensure_future(_expanded_prompt(text, making, submit))
        self._work = work
        if stopped:
            work.cancel()
        try:
            await asyncio.wait({work}, timeout=within)
            if not work.done():
                raise ToolFailed(f"The prompt was not made within {within:g} s. Nothing was sent. Try it again.")
            if work.cancelled():
                raise UsageError("The prompt was stopped before its text was made. Nothing was sent.")
            return work.result()
        finally:
            self._work = None
            work.cancel()
            if making is not None:
                making.cancel()

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


async def _expanded_prompt(text: str, wait: Awaitable[Expanded] | None, submit: tuple[SubmitPrompt, ...]) -> Expanded:
    expanded = Expanded(text) if wait is None else await wait
    for step in submit:
        expanded = await step(text, expanded)
    return expanded
