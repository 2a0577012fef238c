"""Files that changed behind the model's back: found before a prompt, told once, and not written over unseen."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.agent.looking import edits
from holdfast.calls import FileChange, FileSeen
from holdfast.session import words
from holdfast.session.entries import FilesChanged
from holdfast.session.fold import Fold
from holdfast.tools.tool import Toolbox


def watched(fold: Fold) -> list[tuple[FileSeen, ...]]:
    """Return each file that the model has seen, as it saw it, then as it was told that it changed.

    Those of edits that have no outcome yet are left out: they are looked at on their own, and told of.
    """
    edited = {change.path for change in edits(fold.conversation().open_calls).values()}
    return [states for path, states in fold.files.items() if path not in edited]


def drift(known: Iterable[tuple[FileSeen, ...]], toolbox: Toolbox) -> tuple[FilesChanged, ...]:
    """Return the entry that tells of those `watched` files which are neither as seen nor as told, if there are any."""
    found: list[FileSeen] = []
    for states in known:
        now = toolbox.present(states[-1])
        if not any(now.same(state) for state in states):
            found.append(now)
    return (FilesChanged(files=tuple(found), note=words.files_note(found)),) if found else ()


def stale(change: FileChange, seen: FileSeen | None) -> bool:
    """Return whether a change would replace content that the model has not seen, though it has seen the file.

    A file it never saw is its own risk, one that was too large to hash is not told apart, and where no file is there is
    nothing to lose.
    """
    if change.before is None or seen is None or not seen.sha256:
        return False
    return seen.sha256 != change.before
