"""Call ids: deterministic for a place in the session, and valid for every provider."""

from __future__ import annotations

import re
from collections.abc import Callable

from holdfast.history.provider_ids import hashed_id

_CANONICAL = re.compile("[0-9A-Za-z]{9}")


def call_id(session: str, step: int, index: int, *, is_taken: Callable[[str], bool]) -> str:
    """Return nine letters and digits, deterministic for the place, that no other call of the session has."""
    return hashed_id(f"{session}/{step}/{index}", is_used=is_taken)


def is_call_id(text: str) -> bool:
    """Return whether `text` has the form of holdfast's call ids."""
    return _CANONICAL.fullmatch(text) is not None
