"""The question about a call that waits for the user's answer. On the agent's thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.agent.turn.approval_prompt import ApprovalAnswer
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan
from holdfast.ui.tui.agent_thread.messages import AgentMessage, ApprovalClosed, ApprovalRequested


class OpenQuestion:
    """The one question that is open, if any."""

    def __init__(self, send: Callable[[AgentMessage], None]) -> None:
        """Create it with no question open; `send` must neither block nor raise."""
        self._send = send
        self._asked: tuple[str, asyncio.Future[ApprovalAnswer]] | None = None

    async def ask(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Send the question, and return the user's answer; `ApprovalClosed` is sent however it ends."""
        answered: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()
        self._asked = call.id, answered
        self._send(ApprovalRequested(call, plan, why))
        try:
            return await answered
        finally:
            self._asked = None
            self._send(ApprovalClosed())

    def answer(self, call: str, answer: ApprovalAnswer) -> None:
        """Answer the question about `call`; nothing happens if it is not open."""
        if self._asked is not None and self._asked[0] == call and not self._asked[1].done():
            self._asked[1].set_result(answer)
