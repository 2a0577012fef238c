"""Ids of our own: the same for the same place, and of a form that every provider accepts."""

from __future__ import annotations

import re
from collections.abc import Callable

from holdfast.history.ids import hashed_id

_CANONICAL = re.compile("[0-9A-Za-z]{9}")


def call_id(session: str, step: int, index: int, *, taken: Callable[[str], bool]) -> str:
    """Return nine letters and digits, the same for the same place, that no call of the session has."""
    return hashed_id(f"{session}/{step}/{index}", taken=taken)


def is_call_id(text: str) -> bool:
    """Return whether `text` has the form of a call id of ours."""
    return _CANONICAL.fullmatch(text) is not None
