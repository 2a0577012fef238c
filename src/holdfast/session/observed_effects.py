"""What was seen of the effect of an interrupted call, as words for the model. Pure.

Only what was looked at is said: the files of the folder, before the call and now. What a wall made impossible is said
too, and never more than that.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.session.journal.restores import FilesMoved, PathChange
from holdfast.tool_calls import Confined, Observed

ONLY_READS = "It could change nothing: it ran where it could only read."
_ONLY_HERE = "It could write only in this folder, and to temporary files and caches"
_WALLS: dict[Confined, str] = {
    "": "",
    "read": ONLY_READS,
    "workspace": f"{_ONLY_HERE}, and had no network.",
    "network": f"{_ONLY_HERE}; what it did in the network is not known.",
}
_LISTED = 10


def observed_effect(moved: FilesMoved | None, confined: Confined) -> tuple[Observed, str]:
    """Return how much was seen of a call's effect, and the sentences that say it, "" if nothing was."""
    if confined == "read":
        return "no_effect", ONLY_READS
    if moved is None or moved.failed:
        return "unknown", ""
    unknown = "" if confined else "Effect unknown outside of this folder. "
    words = f"{unknown}{changes_sentence(moved)} {_WALLS[confined]}".strip()
    return ("part" if moved.changes or moved.uncovered else "unknown"), words


def changes_sentence(moved: FilesMoved) -> str:
    """Return what a call has changed in files, as found now."""
    doubtful = set(moved.doubtful) if moved.later else set[str]()  # else it is certain that the call made them
    unknown = [each.path for each in moved.changes if each.before.kind == "other" and each.path not in doubtful]
    certain = _words([each for each in moved.changes if each.path not in doubtful and each.before.kind != "other"])
    later = _words([each for each in moved.changes if each.path in doubtful])
    parts = [f"It {certain}."] if certain else []
    if later:
        parts.append(f"Since it began, it or another program {later}.")
    if unknown:
        parts.append(f"What it did to {_listed(unknown)} is not known: what was there before was not kept.")
    if moved.uncovered:
        since = " since it began" if moved.later else ""
        parts.append(f"Of files that are not kept: {_listed(moved.uncovered)} changed{since}.")
    if not parts:
        return "The files of this folder were compared with what they were before: none was changed."
    return " ".join(parts)


def _words(changes: Sequence[PathChange]) -> str:
    kinds = zip(("created", "changed", "deleted"), _sorted(changes), strict=True)
    return " and ".join(f"{verb} {_listed(paths)}" for verb, paths in kinds if paths)


def interrupted_note(title: str, moved: FilesMoved) -> str:
    """Return the note about an interrupted call whose effect was seen only behind its turn."""
    return (
        f"[Note from holdfast: of the interrupted call {title} it is known now what it did. {changes_sentence(moved)}]"
    )


def _sorted(changes: Sequence[PathChange]) -> tuple[list[str], list[str], list[str]]:
    created: list[str] = []
    changed: list[str] = []
    deleted: list[str] = []
    for each in changes:
        if each.before.kind == "absent":
            created.append(each.path)
        elif each.after.kind == "absent":
            deleted.append(each.path)
        else:
            changed.append(each.path)
    return created, changed, deleted


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - _LISTED
    return ", ".join(paths[:_LISTED]) + (f" and {more} more" if more > 0 else "")
