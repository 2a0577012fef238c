"""The interface through which a turn asks the user about a call."""

from __future__ import annotations

from typing import Protocol

from holdfast.questions import ApprovalAnswer, Question
from holdfast.tools.tool import Plan


class ApprovalPrompt(Protocol):
    """Asks the user. The answer may take as long as the user takes, and names a choice that the question offers.

    `plan` is what the question is about, for a surface in this process that shows more of it than the question holds.
    """

    async def __call__(self, question: Question, plan: Plan) -> ApprovalAnswer:
        """Return the user's answer."""
        ...
