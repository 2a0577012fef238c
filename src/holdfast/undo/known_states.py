"""The states of paths that have no content, and when two states are the same. Pure."""

from __future__ import annotations

from holdfast.session.journal.restores import PathState

ABSENT_STATE = PathState("absent")
OTHER_STATE = PathState("other")
FOLDER_STATE = PathState("folder")
FOLDER_MODE = 0o755
"""The permissions of a folder that are not written down."""


def folder_state(mode: int | None) -> PathState:
    """Return the state of a folder with these permissions; the usual ones are not written down."""
    return FOLDER_STATE if mode is None or mode == FOLDER_MODE else PathState("folder", mode=mode)


def same(one: PathState, other: PathState) -> bool:
    """Return whether two states are the same to a user: the mode of a link is nothing."""
    if one.kind != other.kind or one.kind == "other":
        return False
    return one.object == other.object and (one.kind == "link" or one.mode == other.mode)
