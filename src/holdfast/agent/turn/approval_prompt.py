"""The interface through which a turn asks the user about a call."""

from __future__ import annotations

from typing import Protocol

from holdfast.questions import ApprovalAnswer
from holdfast.session.journal.parts import CallPart
from holdfast.tools.tool import Plan


class ApprovalPrompt(Protocol):
    """Asks the user about a call. The answer may take as long as the user takes."""

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Return the user's answer."""
        ...
