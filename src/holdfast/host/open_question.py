"""The question that a session waits on: every client is asked, the first answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from holdfast.errors import UsageError
from holdfast.host import commands as c
from holdfast.host import events as h
from holdfast.questions import ApprovalAnswer, Question
from holdfast.tools.tool import Plan


class OpenQuestion:
    """What a session asks now, if it asks; `send` tells the clients, `when_asked` is called once they are asked."""

    def __init__(self, send: Callable[[h.HostEvent], None], when_asked: Callable[[], None]) -> None:
        self._send = send
        self._when_asked = when_asked
        self._answered: asyncio.Future[ApprovalAnswer] | None = None
        self.shown: h.Asked | None = None
        """What the clients were shown, until its end was told: a client that comes late is asked the same."""

    @property
    def waiting(self) -> Question | None:
        """Return the question that waits for an answer, None if there is none."""
        return None if self.shown is None or self._answered is None or self._answered.done() else self.shown.question

    async def ask(self, question: Question, plan: Plan) -> ApprovalAnswer:
        """Ask the clients, and return the first answer."""
        self._answered = asyncio.get_running_loop().create_future()
        self.shown = h.Asked(question, plan)
        self._send(self.shown)
        self._when_asked()
        try:
            return await self._answered
        finally:
            self.shown = self._answered = None
            self._send(h.AskClosed(question.id))

    def answer(self, command: c.Answer) -> None:
        """Take a client's answer. UsageError if the question is not open, or has no such choice."""
        question = self.waiting
        if question is None or self._answered is None or question.id != command.question:
            raise UsageError(
                f"There is no open question {command.question!r}: it was answered, or its turn has ended. "
                "Look at the session."
            )
        answer = ApprovalAnswer(command.choice, command.words, command.marked)
        question.chosen(answer)
        self._answered.set_result(answer)
