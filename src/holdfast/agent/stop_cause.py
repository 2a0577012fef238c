"""Why a turn ends before the model ended it."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.session.journal.entries import Cause


@dataclass(frozen=True, slots=True)
class StopCause:
    """Why a turn ends. The user reads `detail`, and so does the model where it helps."""

    cause: Cause
    detail: str = ""
