"""Files that changed behind the model's back: found before a prompt, told once, and not written over unseen.

One rule: of a file of instructions the new text is told, of any other only that it changed.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.agent.looking import edits
from holdfast.agent.prompts import instructions_note
from holdfast.calls import FileChange, FileSeen
from holdfast.session import words
from holdfast.session.entries import FilesChanged
from holdfast.session.fold import Fold
from holdfast.tools.tool import Toolbox


def watched(fold: Fold) -> dict[str, tuple[FileSeen, ...]]:
    """Return each file that the model has seen, by path: as it saw it, then as it was told that it changed.

    Nothing is said of those of edits that have no outcome yet: they are looked at on their own, and told of.
    """
    edited = {change.path for change in edits(fold.conversation().open_calls).values()}
    return {path: () if path in edited else states for path, states in fold.files.items()} | dict.fromkeys(edited, ())


def drift(known: Mapping[str, tuple[FileSeen, ...]], toolbox: Toolbox) -> tuple[FilesChanged, ...]:
    """Return the entry that tells of those `watched` files which are neither as seen nor as told, if there are any.

    Instructions that the model has not seen are told too.
    """
    held = {each.seen.path: each for each in toolbox.instructions()}
    told = [each for path, each in held.items() if _is_news(each.seen, known.get(path))]
    found: list[FileSeen] = []
    for path, states in known.items():
        if states and path not in held and _is_news(now := toolbox.present(states[-1]), states):
            found.append(now)
    if not found and not told:
        return ()
    notes = [words.files_note(found)] if found else []
    if told:
        notes.append(instructions_note(told))
    return (FilesChanged(files=(*found, *(each.seen for each in told)), note="\n\n".join(notes)),)


def _is_news(now: FileSeen, states: tuple[FileSeen, ...] | None) -> bool:
    """Return whether a file is neither as seen nor as told; of one without states nothing is to be said."""
    return states is None or (bool(states) and not any(now.same(state) for state in states))


def stale(change: FileChange, seen: FileSeen | None) -> bool:
    """Return whether a change would replace content that the model has not seen, though it has seen the file.

    A file it never saw is its own risk, one that was too large to hash is not told apart, and where no file is there is
    nothing to lose.
    """
    if change.before is None or seen is None or not seen.sha256:
        return False
    return seen.sha256 != change.before
