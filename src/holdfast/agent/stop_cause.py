"""Why a turn ends before the model ended it."""

from __future__ import annotations

import msgspec

from holdfast.session.journal.entries import Cause


class StopCause(msgspec.Struct, frozen=True):
    """Why a turn ends. The user reads `detail`, and so does the model where it helps."""

    cause: Cause
    detail: str = ""
