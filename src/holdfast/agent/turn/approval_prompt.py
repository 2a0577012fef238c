"""The interface through which a turn asks the user about a call."""

from __future__ import annotations

from typing import Protocol

import msgspec

from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Mode, Remember
from holdfast.tools.tool import Plan


class ApprovalAnswer(msgspec.Struct, frozen=True):
    """The user's answer about a call. `reason` is why they refuse; the model reads it.

    To a question of the model the answer is `chosen`, the labels of its options, and `reason`, the user's own words.

    `remember` also allows the pattern that `holdfast.tools.approval_patterns.suggested` gives for the plan, as the user
    saw it. `mode` is the approval mode of the session from now on, whatever `allowed` says; None leaves it.
    """

    allowed: bool
    reason: str = ""
    remember: Remember = ""
    mode: Mode | None = None
    chosen: tuple[str, ...] = ()


class ApprovalPrompt(Protocol):
    """Asks the user about a call. The answer may take as long as the user takes."""

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Return the user's answer."""
        ...
