"""Asks the user of a fleet: the question is in the journal, the answer comes as a row of the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from holdfast.agent.turn.asker import ApprovalAnswer
from holdfast.fleet.record import InboxRow
from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Mode
from holdfast.tools.tool import Plan


class InboxAsker:
    """The open questions of one session; an `Asker`. `changed` is called when one opens."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._open: dict[str, asyncio.Future[ApprovalAnswer]] = {}

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Return the user's answer; it may take hours, unless the turn is parked."""
        del plan, why  # the journal has them
        future = self._open[call.id] = asyncio.get_running_loop().create_future()
        self._changed()
        try:
            return await future
        finally:
            self._open.pop(call.id, None)

    @property
    def asking(self) -> bool:
        """Return whether a question waits."""
        return any(not future.done() for future in self._open.values())

    def answer(self, row: InboxRow) -> bool:
        """Give the answer of a row to its question, and return whether it is open."""
        future = self._open.get(str(row.body.get("call")))
        if future is None or future.done():
            return False
        future.set_result(_answer_of(row))
        return True


def _answer_of(row: InboxRow) -> ApprovalAnswer:
    body = row.body
    mode = body.get("mode")
    return ApprovalAnswer(
        allowed=bool(body.get("allowed")),
        reason=str(body.get("words", "")),
        remember="session" if body.get("remember") == "session" else "",
        mode=None if mode is None else cast("Mode", mode),
        chosen=tuple(str(each) for each in cast("list[object]", body.get("chosen", []))),
    )
