"""Snapshots of a folder before and behind a command, and what differs between two of them.

How it works. git compares the files with a private index, which begins as a copy of the user's: of what is committed
and unchanged, nothing is read. What differs is stored as objects, and the index is written as a tree. `Scan` has what a
tree cannot say. Two snapshots differ in paths, each with its state before and after; nothing else is ever restored.

Why not the user's repository, `git stash` or a commit? They would show, run hooks, and be collected. Why not copies? A
copy of 89 MB takes seconds and its space, a tree of it 60 ms and what changed.

What git ignores counts too: a command changes ignored files as easily. Only small ones are kept, outside of dependency
and cache folders; of the others, size and time are compared, so that a change is known even where it cannot be undone.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from holdfast.session.journal.restores import PathChange
from holdfast.system.bounded_files import read_bounded
from holdfast.system.git import git_folder, repository
from holdfast.system.secret_files import holds_secrets
from holdfast.text import valid_unicode
from holdfast.undo.budget import delete_objects
from holdfast.undo.comparison import TreeAndScan, compared
from holdfast.undo.folder_walk import Known, walked
from holdfast.undo.index_copy import copied_index
from holdfast.undo.kept_contents import KeptContents
from holdfast.undo.private_git import SNAPSHOT_SECONDS, GitFailed, PrivateGit
from holdfast.undo.scan import (
    DEPENDENCY_FOLDERS,
    Scan,
    SizeAndTime,
    changed_uncovered,
    decode_scan,
    encode_scan,
)

LARGEST_COPY = 20_000_000
"""Bytes of a file that is kept; of a larger one only size and time are compared."""
LARGEST_IGNORED = 1_000_000
MOST_IGNORED = 32_000_000
"""Bytes of one file that git ignores and that is kept, and of all of them."""
MOST_NEW_BYTES = 512_000_000
"""Bytes of new files that one snapshot stores."""
MOST_NEW_FILES = 20_000
MOST_UNCOVERED = 50_000
"""Files whose content is not kept that are looked at; with more of them, ignored files are not."""
MOST_TRACKED = 200_000
MOST_CHANGES = 10_000
"""Paths that one command may change so that it can be undone."""

_SHA256 = re.compile(rb"^\s*objectformat\s*=\s*sha256\s*$", re.MULTILINE | re.IGNORECASE)
_LARGEST_CONFIG = 262_144
_EXCLUDES = tuple(word for name in DEPENDENCY_FOLDERS for word in ("-x", f"{name}/"))


class Snapshot(msgspec.Struct, frozen=True):
    """A folder at one moment: the ids of its tree and its scan."""

    tree: str
    scan: str


class Difference(msgspec.Struct, frozen=True):
    """What differs between two snapshots: `changes`, and `uncovered` paths whose content is not kept.

    `doubtful` are changed paths that may hold the only copy of such a content.
    """

    changes: tuple[PathChange, ...] = ()
    uncovered: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()


class Snapshots:
    """The snapshots of one session, which works in `root` and keeps them in `folder`. Blocks; one at a time."""

    def __init__(self, folder: Path, root: Path, *, private: Iterable[Path] = ()) -> None:
        self._folder = folder
        self._root = root
        self._private = tuple(map(str, private))
        self._repository = repository(root)
        self.top = self._repository or root
        self._below = f"{str(self.top).rstrip('/')}/"
        self._git: PrivateGit | None = None
        self._busy = threading.Lock()
        self._scans_ignored = True
        self._ignored_bytes = 0
        self._tree = ""
        self._indexed: frozenset[str] = frozenset()
        self._last: Snapshot | None = None
        self.contents = KeptContents(folder, sha256=self._has_sha256())

    def take(self, *, after_call: bool = False) -> Snapshot:
        """Return the folder as it is now, durably kept; raises `GitFailed`, `OSError` or `ValueError`.

        `after_call` is whether a call has just ended: a secret file that it changed is kept too.
        """
        if not self._busy.acquire(timeout=SNAPSHOT_SECONDS):
            raise GitFailed("The snapshot before has not ended.")
        try:
            git = self._ready()
            git.begin()
            try:
                return self._new_snapshot(git, after_call=after_call)
            except GitFailed:
                self._tree = ""
                raise
        finally:
            self._busy.release()

    def difference(self, before: Snapshot, after: Snapshot) -> Difference:
        """Return what differs; raises as `take`."""
        if before == after:
            return Difference()
        git = self._ready()
        git.begin()
        then, now = TreeAndScan(before.tree, self._scan(before)), TreeAndScan(after.tree, self._scan(after))
        if then.scan.top != now.scan.top:
            raise GitFailed("The folder that is looked at is another one since: a repository began or went above it.")
        found = compared(git, then, now, name=self._name, top=self._below)
        if len(found.changes) > MOST_CHANGES:
            raise GitFailed(f"It changed {len(found.changes):,} paths (at most {MOST_CHANGES:,}).")
        uncovered = tuple(valid_unicode(self._name(path)) for path in changed_uncovered(then.scan, now.scan))
        valid = {path: change for path, change in sorted(found.changes.items()) if valid_unicode(path) == path}
        doubtful = tuple(change.path for path, change in valid.items() if path in found.doubtful)
        return Difference(tuple(valid.values()), uncovered[:MOST_CHANGES], doubtful)

    def delete_all_but(self, needed: set[str]) -> int:
        """Delete the objects that neither the index nor anything `needed` names; return how many. Raises as `take`."""
        git = self._ready()
        git.begin()
        indexed = (line.split(b" ", 2)[1].decode() for line in git.run("ls-files", "-z", "-s").split(b"\0") if line)
        scans = {self._last.scan} if self._last is not None else set[str]()
        self._tree = ""  # its folders are written again
        return delete_objects(self._folder, {*needed, *indexed, *scans})

    def contents_of(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return contents by their ids, also those that only the user's repository has; what is lost is left out."""
        found = {name: self.contents.get(name) for name in dict.fromkeys(names)}
        missing = [name for name, content in found.items() if content is None]
        if missing:
            with suppress(GitFailed, OSError, ValueError):  # else they are lost: git, or its objects, are not here
                found |= self._from_git(missing)
        return {name: content for name, content in found.items() if content is not None}

    # --- the repository -----------------------------------------------------------------------------------------

    def _has_sha256(self) -> bool:
        try:
            common = None if self._repository is None else self._common(self._repository)
            return common is not None and bool(_SHA256.search(read_bounded(common / "config", _LARGEST_CONFIG)))
        except (OSError, ValueError):
            return False

    def _common(self, top: Path) -> Path:
        """Return the folder with the objects of the user's repository."""
        git = git_folder(top)
        try:
            return git / os.fsdecode(read_bounded(git / "commondir", 4096)).strip()
        except FileNotFoundError:
            return git

    def _ready(self) -> PrivateGit:
        if self._git is not None:
            return self._git
        if str(self.top) in ("/", os.path.expanduser("~")):  # noqa: PTH111 - may be unknown
            raise GitFailed(f"{str(self.top)!r} holds too much to be kept before each command.")
        git = PrivateGit(self._folder, self.top)
        common = None if self._repository is None else self._common(self._repository)
        git.make(
            alternates=None if common is None else Path(os.path.realpath(common)) / "objects",
            exclude=self._exclude(common),
            sha256=self._has_sha256(),
        )
        for left in ("index.lock",):
            (self._folder / left).unlink(missing_ok=True)  # of a git that was killed: this process has the session
        if self._repository is not None and not (self._folder / "index").exists():
            copied_index(git, git_folder(self._repository), self._repository, most=MOST_TRACKED)
        self._git = git
        return git

    def _exclude(self, common: Path | None) -> bytes:
        """Return what is ignored beside the files of the folder: what the user ignores, and holdfast's own."""
        lines = [b""]
        at_home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - may be unknown
        for path in (Path(at_home, "git", "ignore"), *(() if common is None else (common / "info" / "exclude",))):
            try:
                lines.append(read_bounded(path, _LARGEST_CONFIG))
            except (OSError, ValueError):
                continue  # there is none
        return b"\n".join(lines) + b"\n"

    # --- one snapshot -------------------------------------------------------------------------------------------

    def _new_snapshot(self, git: PrivateGit, *, after_call: bool) -> Snapshot:
        listed, uncovered = self._listed(git)
        known = {path for tag, path in listed if tag != "?"}
        new = [path for tag, path in listed if tag == "?" and path not in known]
        update: list[str] = []
        drop: list[str] = []
        for path in known:
            if self._is_kept(path, uncovered, secrets=after_call):
                update.append(path)
            else:
                drop.append(path)
        candidates = [path for path in new if self._is_kept(path, uncovered, secrets=False)]
        update += self._new(git, candidates, uncovered)
        if drop:
            git.run("update-index", "--force-remove", "-z", "--stdin", data=_joined(drop))
        if update:
            git.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", data=_joined(update))
        if update or drop or not self._tree:
            self._tree = git.run("write-tree", "--missing-ok").decode().strip()
            self._indexed = frozenset(map(os.fsdecode, git.run("ls-files", "-z").split(b"\0")))
        if len(uncovered) > MOST_UNCOVERED:
            raise GitFailed(f"There are more than {MOST_UNCOVERED:,} files that cannot be kept.")
        known = Known(self._indexed, uncovered, self._unlisted(git))
        scan = walked(self._below, known, is_private=self._is_private, check=git.check_time)
        self._last = Snapshot(self._tree, self.contents.put(encode_scan(scan)))
        return self._last

    def _listed(self, git: PrivateGit) -> tuple[list[tuple[str, str]], dict[str, SizeAndTime]]:
        """Return the files that differ from the index, with git's letters for how, and an empty list of others."""
        words = ("ls-files", "-z", "-t", "-o", "-m", "-d")
        if self._scans_ignored:
            listed = list(self._paths(git.run(*words, *_EXCLUDES)))
            if len(listed) <= MOST_UNCOVERED:
                return listed, {}
            self._scans_ignored = False
        listed = list(self._paths(git.run(*words, *_EXCLUDES, "--exclude-standard")))
        return listed, {}

    def _unlisted(self, git: PrivateGit) -> frozenset[str]:
        """Return the folders and files that are ignored, if those are too many to be looked at one by one."""
        if self._scans_ignored:
            return frozenset()
        words = ("ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory", *_EXCLUDES)
        return frozenset(os.fsdecode(each.rstrip(b"/")) for each in git.run(*words).split(b"\0") if each)

    def _paths(self, listed: bytes) -> Iterator[tuple[str, str]]:
        for line in listed.split(b"\0"):
            path = os.fsdecode(line[2:])
            if path and not path.endswith("/") and not self._is_private(path):
                yield line[:1].decode(), path

    def _is_private(self, path: str) -> bool:
        place = self._below + path
        return any(place == folder or place.startswith(f"{folder}/") for folder in self._private)

    def _is_kept(self, path: str, uncovered: dict[str, SizeAndTime], *, secrets: bool) -> bool:
        """Return whether the content of a path is kept, or its absence; else it is among the `uncovered`."""
        try:
            status = os.lstat(self._below + path)
        except (FileNotFoundError, NotADirectoryError):
            return True
        is_link, is_file = stat.S_ISLNK(status.st_mode), stat.S_ISREG(status.st_mode)
        is_open = is_link or (is_file and os.access(self._below + path, os.R_OK))
        is_told = secrets or is_link or not holds_secrets(self._below + path)
        if stat.S_ISDIR(status.st_mode) or (is_open and is_told and status.st_size <= LARGEST_COPY):
            return valid_unicode(path) == path
        uncovered[path] = SizeAndTime.of(status)
        return False

    def _new(self, git: PrivateGit, paths: list[str], uncovered: dict[str, SizeAndTime]) -> list[str]:
        """Return which of these new files are kept; the others are added to the `uncovered`."""
        if not paths:
            return []
        data = _joined(f"./{path}" for path in paths)  # a name may begin with ":"
        found = git.run("check-ignore", "-z", "--stdin", data=data, codes=(0, 1)) if self._repository else b""
        ignored = {os.fsdecode(each).removeprefix("./") for each in found.split(b"\0")}
        names: list[str] = []
        total = 0
        for path in paths:
            try:
                status = os.lstat(self._below + path)
            except OSError:
                continue  # it is gone again
            size = status.st_size
            is_small = size <= LARGEST_IGNORED and self._ignored_bytes + size <= MOST_IGNORED
            if path in ignored and not is_small:
                uncovered[path] = SizeAndTime.of(status)
                continue
            total += size
            self._ignored_bytes += size if path in ignored else 0
            names.append(path)
        if total > MOST_NEW_BYTES or len(names) > MOST_NEW_FILES:
            raise GitFailed(
                f"There are {len(names):,} new files of {total:,} bytes (at most {MOST_NEW_FILES:,} of "
                f"{MOST_NEW_BYTES:,})."
            )
        return names

    # --- two snapshots ------------------------------------------------------------------------------------------

    def _scan(self, snapshot: Snapshot) -> Scan:
        data = self.contents.get(snapshot.scan)
        if data is None:
            raise GitFailed("What was kept of the folder is damaged.")
        try:
            return decode_scan(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise GitFailed("What was kept of the folder is damaged.") from error

    def _name(self, path: str) -> str:
        """Return a path as the journal names it."""
        place = self.top / path
        return str(place.relative_to(self._root)) if place.is_relative_to(self._root) else str(place)

    def _from_git(self, names: list[str]) -> dict[str, bytes]:
        git = self._ready()
        git.begin()
        written = git.run("cat-file", "--batch", data="\n".join(names).encode() + b"\n")
        found: dict[str, bytes] = {}
        at = 0
        while at < len(written):
            end = written.index(b"\n", at)
            words = written[at:end].split(b" ")
            at = end + 1
            if len(words) == 3 and words[1] == b"blob":  # noqa: PLR2004 - id, type, size
                size = int(words[2])
                found[words[0].decode()] = written[at : at + size]
                at += size + 1
        return found


def _joined(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
