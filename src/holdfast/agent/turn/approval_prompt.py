"""The interface through which a turn asks the user about a call."""

from __future__ import annotations

from typing import Protocol

import msgspec

from holdfast.session.journal.parts import CallPart
from holdfast.tool_calls import Leaving, Mode, Remember
from holdfast.tools.tool import Plan


class ApprovalAnswer(msgspec.Struct, frozen=True):
    """The user's answer about a call. `reason` is why they refuse; the model reads it.

    For a question of the model, `chosen` has the labels of the chosen options, and `reason` the user's own words.

    `remember` also allows the pattern that `holdfast.tools.approval.patterns.suggested` returns for the plan, as the
    user saw it. `level` is what a command may do, "" if what the question names. `mode` is the session's approval mode
    from now on, whatever `allowed` says; None keeps the mode.
    """

    allowed: bool
    reason: str = ""
    remember: Remember = ""
    mode: Mode | None = None
    chosen: tuple[str, ...] = ()
    level: Leaving = ""


class ApprovalPrompt(Protocol):
    """Asks the user about a call. The answer may take as long as the user takes."""

    async def __call__(self, call: CallPart, plan: Plan, why: str) -> ApprovalAnswer:
        """Return the user's answer."""
        ...
