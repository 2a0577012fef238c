"""What differs between two snapshots of a folder, and what of it is certain.

How it works. Git compares the two trees. A path that is in only one of them was created or deleted only if the other
look saw that nothing is there. Else it is `other`: it was there, or may have been, and no undo touches it. A file whose
content is not kept may have been moved or copied before it changed or went: what was created in the same call may be
the only copy, so it is `doubtful`, and an undo leaves it.

Example: `mv .env settings.txt`. Of `.env` no content is kept, and it is gone: `settings.txt` is doubtful.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import msgspec

from holdfast.session.journal.restores import PathChange, PathState
from holdfast.undo.known_states import ABSENT_STATE, OTHER_STATE, folder_state
from holdfast.undo.private_git import PrivateGit
from holdfast.undo.scan import CACHES, Scan, SizeAndTime, above, is_same


class TreeAndScan(msgspec.Struct, frozen=True):
    """A tree, and what the scan says of it."""

    tree: str
    scan: Scan


class Compared(msgspec.Struct, frozen=True):
    """The `changes`, by paths relative to the top, and those of them that are `doubtful`."""

    changes: dict[str, PathChange]
    doubtful: frozenset[str]


def compared(
    git: PrivateGit, before: TreeAndScan, after: TreeAndScan, *, name: Callable[[str], str], top: str
) -> Compared:
    """Return what differs; `name` gives paths their names in the journal, `top` has a slash behind it."""
    then, now = before.scan, after.scan
    changes = {path: change for path, change in _file_changes(git, before, after, top) if change is not None}
    for path, was, is_now in _folder_changes(git, before, after):
        file = changes.get(path, PathChange("", ABSENT_STATE, ABSENT_STATE))  # a file may stand in its place
        changes[path] = PathChange("", was or file.before, is_now or file.after)
    doubtful = _doubtful(changes, then, now, top)
    named = {path: msgspec.structs.replace(change, path=name(path)) for path, change in changes.items()}
    return Compared(named, doubtful)


def _file_changes(
    git: PrivateGit, before: TreeAndScan, after: TreeAndScan, top: str
) -> Iterator[tuple[str, PathChange | None]]:
    then, now = before.scan, after.scan
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    raw = git.run(*words, before.tree, after.tree).split(b"\0")
    done: set[str] = set()
    for head, found in zip(raw[::2], raw[1::2], strict=False):
        path = os.fsdecode(found)
        old_mode, new_mode, old, new, _ = head.decode().removeprefix(":").split(" ")
        done.add(path)
        was = _state(old_mode, old, then.modes.get(path))
        is_now = _state(new_mode, new, now.modes.get(path))
        if was == ABSENT_STATE and not then.was_absent(path):
            known = then.not_kept(path)
            if known is not None and is_same(known, _at(top + path)):
                continue  # it is as it was: only that it is kept is new
            was = OTHER_STATE
        if is_now == ABSENT_STATE and not now.was_absent(path):
            is_now = OTHER_STATE
        yield path, PathChange("", was, is_now)
    moded = {path for path in {**then.modes, **now.modes} if then.modes.get(path) != now.modes.get(path)} - done
    for line in git.run("ls-tree", "-r", "-z", after.tree).split(b"\0") if moded else ():
        head, _, found = line.partition(b"\t")
        path = os.fsdecode(found)
        if path in moded:
            mode, _, content = head.decode().split(" ")
            was, is_now = (_state(mode, content, each.modes.get(path)) for each in (then, now))
            yield path, PathChange("", was, is_now)


def _folder_changes(
    git: PrivateGit, before: TreeAndScan, after: TreeAndScan
) -> Iterator[tuple[str, PathState | None, PathState | None]]:
    """Yield each folder that is there in only one of them, or has other permissions, and what it was and is."""
    then, now = before.scan, after.scan
    old, new = (_folders(git, each) for each in (before, after))
    for path in old - new:
        if now.was_absent(path) or now.not_kept(path):
            yield path, folder_state(then.folders.get(path)), None
    for path in new - old:
        if then.was_absent(path) or then.not_kept(path):
            yield path, OTHER_STATE if then.not_kept(path) else None, folder_state(now.folders.get(path))
    if then.is_complete and now.is_complete:
        for path in {*then.folders, *now.folders} & old & new:
            was, is_now = folder_state(then.folders.get(path)), folder_state(now.folders.get(path))
            if was != is_now:
                yield path, was, is_now


def _folders(git: PrivateGit, look: TreeAndScan) -> set[str]:
    scan = look.scan
    listed = git.run("ls-tree", "-r", "-d", "-z", "--name-only", look.tree).split(b"\0")
    found = {os.fsdecode(each) for each in listed if each} | set(scan.empty)
    for path in (*scan.empty, *scan.uncovered):
        for at in above(path):
            if at in found:
                break
            found.add(at)
    return found


# --- what is certain ------------------------------------------------------------------------------------------------


def _doubtful(changes: dict[str, PathChange], then: Scan, now: Scan, top: str) -> frozenset[str]:
    """Return the paths that may hold the only copy of what is not kept."""
    moved = {inode for path, inode in then.unseen.items() if now.unseen.get(path) != inode}
    is_lost = any(path not in now.unseen and _base(path) not in CACHES for path in then.unseen)
    for path, known in (*then.uncovered.items(), *then.others.items()):
        found = now.not_kept(path) or _at(top + path)
        if not is_same(known, found):
            is_lost = is_lost or known.size > 0
        if found is None or found.inode != known.inode:
            moved.add(known.inode)
    moved.discard(0)
    if not (is_lost or moved):
        return frozenset()
    found = {path: _at(top + path) for path, each in changes.items() if each.after.kind not in ("absent", "other")}
    moved_here = {path for path, each in found.items() if each is not None and each.inode in moved}
    created = {path for path, each in changes.items() if each.before == ABSENT_STATE and each.after.kind != "folder"}
    below = {path for path in found if any(at in moved_here for at in above(path))}
    return frozenset(moved_here | below | (created if is_lost else set()))


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _at(place: str) -> SizeAndTime | None:
    try:
        return SizeAndTime.of(os.lstat(place))
    except OSError:
        return None


def _state(mode: str, found: str, unusual: int | None) -> PathState:
    """Return the state that git's words for a file mean."""
    if not found.strip("0"):
        return ABSENT_STATE
    match mode:
        case "100644":
            return PathState("file", found, unusual or 0o644)
        case "100755":
            return PathState("file", found, unusual or 0o755)
        case "120000":
            return PathState("link", found)
        case _:
            return OTHER_STATE
