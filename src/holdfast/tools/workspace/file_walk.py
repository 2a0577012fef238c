"""Lists the files of a folder without those that `.gitignore` excludes, and without following links.

`.gitignore` files count from the top of the git repository down. `.git` is never entered, and git's global and private
exclude files are not read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.gitignore import gitignore
from holdfast.system.safe_paths import SafePath, open_folder, open_regular_in
from holdfast.system.user_directories import holds_keys

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_MOST = 1_000_000


class WalkedFile(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a folder; `name` is relative to the start of the walk, `modified` in nanoseconds."""

    name: str
    kind: Literal["file", "folder", "link"]
    modified: int


class Rules(msgspec.Struct, frozen=True):
    """The `.gitignore` files that apply in a folder, outermost first, each with its folder ("", "a/b/")."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def ignores(self, name: str) -> bool:
        """Return whether a file (or a folder, if `name` ends in a slash) is excluded. The innermost rule wins."""
        for lead, spec in reversed(self.specs):
            include = spec.check_file(name[len(lead) :]).include
            if include is not None:
                return include
        return False

    def within(self, lead: str, text: str) -> Rules:
        """Return the rules for the folder `lead`, whose `.gitignore` contains `text`."""
        return Rules((*self.specs, (lead, gitignore(text))))


def walk(
    root: Path, start: SafePath, *, stop: threading.Event, unread: list[str], depth: int | None = None
) -> Iterator[WalkedFile]:
    """Yield what is beneath the folder `start`, sorted by name, files before the content of folders.

    Not deeper than `depth` names, if given. Unreadable folders are added to `unread`; an unreadable `start` raises
    `OSError`.
    """
    lead, rules = _inherited(root if start.outside is None else start.path, start.path)
    pending = [("", rules)]
    while pending:
        below, rules = pending.pop()
        folders: list[tuple[str, Rules]] = []
        try:
            with open_folder(start.below(below.rstrip("/"))) as fd:
                text = _ignore_file(fd)
                inner = rules.within(lead + below, text) if text else rules
                with os.scandir(fd) as listing:
                    found = sorted(listing, key=lambda entry: entry.name)
                for item in found:
                    if stop.is_set():
                        return
                    entry = _entry(below, item)
                    if entry is None or inner.ignores(lead + entry.name + "/" * (entry.kind == "folder")):
                        continue
                    if entry.kind == "folder" and (depth is None or entry.name.count("/") + 1 < depth):
                        folders.append((entry.name + "/", inner))
                    yield entry
        except OSError:
            if not below:
                raise
            unread.append(below)
        pending += reversed(folders)


def _entry(below: str, item: os.DirEntry[str]) -> WalkedFile | None:
    """Return the entry; None for special files, `.git`, the key file, and what has been deleted."""
    if item.name == ".git" or holds_keys(item.name):
        return None
    try:
        modified = item.stat(follow_symlinks=False).st_mtime_ns
    except FileNotFoundError:
        return None
    name = below + item.name
    if item.is_symlink():
        return WalkedFile(name=name, kind="link", modified=modified)
    if item.is_dir(follow_symlinks=False):
        return WalkedFile(name=name, kind="folder", modified=modified)
    return WalkedFile(name=name, kind="file", modified=modified) if item.is_file(follow_symlinks=False) else None


def _inherited(base: Path, start: Path) -> tuple[str, Rules]:
    """Return the path of `start` within its repository, and the rules of all folders from its top down.

    An ignored folder that was requested by name is listed: then no rule from above applies.
    """
    top = next((above for above in (base, *base.parents) if (above / ".git").exists()), base)
    rules, lead = Rules(), ""
    for part in start.relative_to(top).parts:
        try:
            with open_folder(SafePath(anchor=top / lead, parts=(), name=lead, outside=None)) as fd:
                rules = rules.within(lead, _ignore_file(fd))
        except PermissionError:
            pass  # a parent that can be entered but not read; git could not read its rules either
        lead += f"{part}/"
    return lead, Rules() if rules.ignores(lead) else rules


def _ignore_file(fd: int) -> str:
    """Return the text of the folder's `.gitignore`, "" if it has none. Like git, does not follow a link."""
    try:
        with open_regular_in(fd, ".gitignore", shown=".gitignore") as file:
            return file.read(IGNORE_MOST).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except (OSError, ToolFailed):
        return ""
