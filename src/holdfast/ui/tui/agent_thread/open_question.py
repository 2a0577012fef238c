"""The question about a call that waits for the user's answer. It lives on the agent's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan
from holdfast.ui.tui.agent_thread.messages import AgentMessage, ApprovalClosed, ApprovalRequested


class OpenQuestion:
    """The one question that is open, if any."""

    def __init__(self, send: Callable[[AgentMessage], None]) -> None:
        """Create it with no question open; `send` must neither block nor raise."""
        self._send = send
        self._pending: tuple[str, asyncio.Future[ApprovalAnswer]] | None = None

    async def ask(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Send the question, and return the user's answer; `ApprovalClosed` is sent however it ends."""
        answer: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()
        self._pending = call.id, answer
        self._send(ApprovalRequested(call, plan, why))
        try:
            return await answer
        finally:
            self._pending = None
            self._send(ApprovalClosed())

    def answer(self, call: str, answer: ApprovalAnswer) -> None:
        """Answer the question about `call`; nothing happens if it is not open."""
        if self._pending is not None and self._pending[0] == call and not self._pending[1].done():
            self._pending[1].set_result(answer)
