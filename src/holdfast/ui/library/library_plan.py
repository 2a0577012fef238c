"""What a session of a program is opened with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from holdfast.questions import ApprovalAnswer, Question
from holdfast.tool_calls import Mode
from holdfast.tools.tool import Tool

AskFunction = Callable[[Question], "str | ApprovalAnswer | Awaitable[str | ApprovalAnswer]"]
"""Answers a question with the name of one of its choices; a sync function runs on a thread."""


class SessionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is opened with, checked: nothing was opened yet. Without model or mode, the user's are meant."""

    model: str
    folder: Path | None
    resume: str
    named: frozenset[str] | None
    authored: dict[str, Tool]
    asks_user: bool
    mode: Mode | None
    cwd: Path
    cwd_given: bool
    name: str
    system: str
