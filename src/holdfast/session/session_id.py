"""The IDs that a session may have: an ID becomes a folder, a branch and an argument, and must be harmless as each."""

from __future__ import annotations

import re

from holdfast.errors import UsageError

LONGEST_ID = 100
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")


def is_session_id(text: str) -> bool:
    """Return whether `text` may be a session's ID."""
    return len(text) <= LONGEST_ID and _ID.fullmatch(text) is not None


def checked_id(text: str) -> str:
    """Return `text`; raises `UsageError` unless it may be a session's ID."""
    if not is_session_id(text):
        raise UsageError(
            f"Session ID {text[:LONGEST_ID]!r} is not valid (expected at most {LONGEST_ID} letters, digits and hyphens,"
            " the first no hyphen). Choose another ID."
        )
    return text
