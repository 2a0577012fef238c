"""Walks a folder for what a tree of git cannot say of it: permissions, empty folders, and names that are in no tree.

What has no name here and in no tree was not there: that is what "a call created it" rests on. So a folder that is not
looked into is named too: what lies in it is unknown, and never taken for absent.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from collections.abc import Set as AbstractSet

import msgspec

from holdfast.text import valid_unicode
from holdfast.undo.scan import DEPENDENCY_FOLDERS, USUAL_FOLDER, USUAL_MODES, Scan, SizeAndTime

MOST_OTHERS = 50_000
"""Names that are in no tree; with more of them, nothing counts as absent."""

_SKIPPED = frozenset(DEPENDENCY_FOLDERS)


class Known(msgspec.Struct, frozen=True):
    """What is known before a walk: the paths that are in the tree, the `uncovered` files, and folders to leave out."""

    indexed: AbstractSet[str]
    uncovered: dict[str, SizeAndTime]
    unlisted: AbstractSet[str] = frozenset()


class _Walk:
    def __init__(self, top: str, known: Known, is_private: Callable[[str], bool]) -> None:
        self.top = top
        self.known = known
        self.is_private = is_private
        self.modes: dict[str, int] = {}
        self.folders: dict[str, int] = {}
        self.empty: list[str] = []
        self.others: dict[str, SizeAndTime] = {}
        self.unseen: dict[str, int] = {}
        self.waiting: list[tuple[str, int, bool]] = [("", 0, False)]

    def look_into(self, at: str, inode: int, *, is_hidden: bool) -> None:
        prefix = f"{at}/" if at else ""
        try:
            with os.scandir(self.top + at) as listing:
                entries = list(listing)
        except FileNotFoundError:
            return  # it is gone again
        except OSError:
            self.unseen[valid_unicode(at)] = inode  # it is closed to the user
            return
        if at and not is_hidden and (at in self.known.unlisted or any(entry.name == ".git" for entry in entries)):
            self.unseen[valid_unicode(at)] = inode
            is_hidden = True
        is_empty = True
        for entry in entries:
            path = prefix + entry.name
            if entry.name == ".git" or self.is_private(path):
                continue
            if entry.name in _SKIPPED and entry.is_dir(follow_symlinks=False):
                self.unseen[valid_unicode(path)] = entry.inode()
                continue
            is_empty = False
            try:
                self.take(entry, path, is_hidden=is_hidden)
            except OSError:
                continue  # it is gone again
        if is_empty and at and not is_hidden and valid_unicode(at) == at:
            self.empty.append(at)

    def take(self, entry: os.DirEntry[str], path: str, *, is_hidden: bool) -> None:
        is_valid = valid_unicode(path) == path
        status = entry.stat(follow_symlinks=False)
        mode = stat.S_IMODE(status.st_mode)
        if stat.S_ISDIR(status.st_mode):
            self.waiting.append((path, status.st_ino, is_hidden))
            if mode != USUAL_FOLDER and is_valid and not is_hidden:
                self.folders[path] = mode
            return
        if path in self.known.indexed:
            if not stat.S_ISLNK(status.st_mode) and mode not in USUAL_MODES and is_valid:
                self.modes[path] = mode
        elif not is_hidden and path not in self.known.uncovered:
            self.others[valid_unicode(path)] = SizeAndTime.of(status)


def walked(top: str, known: Known, *, is_private: Callable[[str], bool], check: Callable[[], object]) -> Scan:
    """Return what a walk through the folder `top` (with a slash behind it) finds; `check` may end it by an error."""
    walk = _Walk(top, known, is_private)
    while walk.waiting:
        check()
        at, inode, is_hidden = walk.waiting.pop()
        walk.look_into(at, inode, is_hidden=is_hidden)
    is_complete = len(walk.others) <= MOST_OTHERS and len(walk.unseen) <= MOST_OTHERS
    return Scan(
        modes=walk.modes,
        empty=tuple(sorted(walk.empty)),
        uncovered=known.uncovered,
        folders=walk.folders,
        others=walk.others if is_complete else {},
        unseen=walk.unseen if is_complete else {},
        is_complete=is_complete,
        top=valid_unicode(top),
    )
