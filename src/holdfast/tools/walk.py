"""The files of a folder as a person would count them: without what `.gitignore` files leave out, never through a link.

`.gitignore` files count from the top of the git repository down, `.git` itself is never entered, and git's global and
private exclude files are not read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from holdfast.config import holds_keys
from holdfast.errors import ToolFailed
from holdfast.tools.gitignore import gitignore
from holdfast.tools.paths import Place, folder, opened_in

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_IGNORE_MOST = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something in a folder; `name` is relative to where the walk began, `modified` in nanoseconds."""

    name: str
    kind: Literal["file", "folder", "link"]
    modified: int


@dataclass(frozen=True, slots=True)
class Rules:
    """The `.gitignore` files that apply in a folder, outermost first, each with the folder it lies in ("", "a/b/")."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def ignores(self, name: str) -> bool:
        """Return whether the file, or the folder if `name` ends in a slash, is left out; the innermost word counts."""
        for lead, spec in reversed(self.specs):
            include = spec.check_file(name[len(lead) :]).include
            if include is not None:
                return include
        return False

    def within(self, lead: str, text: str) -> Rules:
        """Return the rules for the folder `lead`, whose `.gitignore` holds `text`."""
        return Rules((*self.specs, (lead, gitignore(text))))


def walk(root: Path, start: Place, *, stop: threading.Event, unread: list[str]) -> Iterator[Entry]:
    """Yield what lies beneath the folder `start`, sorted by name, a folder's files before its folders' content.

    Folders that cannot be read are added to `unread`; that `start` itself cannot be read is raised as `OSError`.
    """
    lead, rules = _inherited(root if start.outside is None else start.path, start.path)
    pending = [("", rules)]
    while pending:
        below, rules = pending.pop()
        folders: list[tuple[str, Rules]] = []
        try:
            with folder(start.below(below.rstrip("/"))) as fd:
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
                    if entry.kind == "folder":
                        folders.append((entry.name + "/", inner))
                    yield entry
        except OSError:
            if not below:
                raise
            unread.append(below)
        pending += reversed(folders)


def _entry(below: str, item: os.DirEntry[str]) -> Entry | None:
    """Return the entry, or None for what is neither file nor folder, for `.git`, kept keys, and what is gone."""
    if item.name == ".git" or holds_keys(item.name):
        return None
    try:
        modified = item.stat(follow_symlinks=False).st_mtime_ns
    except FileNotFoundError:
        return None
    name = below + item.name
    if item.is_symlink():
        return Entry(name=name, kind="link", modified=modified)
    if item.is_dir(follow_symlinks=False):
        return Entry(name=name, kind="folder", modified=modified)
    return Entry(name=name, kind="file", modified=modified) if item.is_file(follow_symlinks=False) else None


def _inherited(base: Path, start: Path) -> tuple[str, Rules]:
    """Return the path of `start` beneath the top of its repository, and the rules of all folders from there down to it.

    A folder that was asked for by name is shown although it is ignored: then no rule from above counts.
    """
    top = next((above for above in (base, *base.parents) if (above / ".git").exists()), base)
    rules, lead = Rules(), ""
    for part in start.relative_to(top).parts:
        try:
            with folder(Place(anchor=top / lead, parts=(), name=lead, outside=None)) as fd:
                rules = rules.within(lead, _ignore_file(fd))
        except PermissionError:
            pass  # a folder above that may be passed through but not read; git could not read its rules either
        lead += f"{part}/"
    return lead, Rules() if rules.ignores(lead) else rules


def _ignore_file(fd: int) -> str:
    """Return the text of the folder's `.gitignore`, "" if it has none; git does not follow one that is a link."""
    try:
        with opened_in(fd, ".gitignore", shown=".gitignore") as file:
            return file.read(_IGNORE_MOST).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except (OSError, ToolFailed):
        return ""
