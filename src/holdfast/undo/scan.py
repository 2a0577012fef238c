"""What a tree of git cannot say of a folder: permissions, empty folders, and files whose content is not kept. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from holdfast.typed_data import decode_json

DEPENDENCY_FOLDERS = (
    *("node_modules", "bower_components", ".venv", "venv", "site-packages", "__pycache__", ".tox", ".nox", ".eggs"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".m2", ".cargo", ".rustup", ".pnpm-store", ".yarn"),
    *(".next", ".nuxt", ".turbo", ".parcel-cache", ".terraform", ".cache", ".hg", ".svn", ".jj"),
)
"""Folders of dependencies and caches, wherever they lie: what is in them is neither looked at nor kept."""

CACHES = ("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache")
"""Of them, those whose loss is no loss."""

USUAL_MODES = (0o644, 0o755)
"""The permissions that a tree can say."""
USUAL_FOLDER = 0o755


class SizeAndTime(msgspec.Struct, frozen=True, array_like=True):
    """The size of a file, when it was last changed, in nanoseconds, and its inode: it stays when a file is moved."""

    size: int
    modified: int
    inode: int = 0

    @classmethod
    def of(cls, status: os.stat_result) -> SizeAndTime:
        """Return them from what the system says of a file."""
        return cls(status.st_size, status.st_mtime_ns, status.st_ino)


class Scan(msgspec.Struct, frozen=True):
    """The unusual `modes` of files, `empty` folders, and the `uncovered` files; paths are relative to the top.

    `folders` are folders with unusual permissions. `others` are whatever else is there and in no tree: pipes, files
    that came in that moment. `unseen` are folders that were not looked into, with their inodes: of a repository within
    this one, of dependencies, closed ones. `is_complete` is whether everything else that is there has its name here or
    in the tree: only then is what has none absent. `top` is the folder itself: paths of another one mean other files.
    """

    modes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    empty: tuple[str, ...] = ()
    uncovered: dict[str, SizeAndTime] = msgspec.field(default_factory=dict[str, SizeAndTime])
    folders: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    others: dict[str, SizeAndTime] = msgspec.field(default_factory=dict[str, SizeAndTime])
    unseen: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    is_complete: bool = False
    top: str = ""

    def not_kept(self, path: str) -> SizeAndTime | None:
        """Return what is known of a file that is there and in no tree, None of any other path."""
        return self.uncovered.get(path) or self.others.get(path)

    def was_absent(self, path: str) -> bool:
        """Return whether it was seen that there is nothing at a path that is in no tree."""
        if not self.is_complete or path in self.uncovered or path in self.others:
            return False
        return not any(at in self.unseen for at in (path, *above(path)))


def encode_scan(scan: Scan) -> bytes:
    """Return the bytes in which a scan is kept; the same scan gives the same bytes."""
    return msgspec.json.encode(scan, order="sorted")


def decode_scan(data: bytes) -> Scan:
    """Return the scan of these bytes; raises `msgspec.DecodeError`."""
    return decode_json(data, Scan)


def changed_uncovered(before: Scan, after: Scan) -> tuple[str, ...]:
    """Return the files whose content is not kept, and that are new, gone, or changed."""
    both = before.uncovered | after.uncovered
    return tuple(sorted(path for path in both if not is_same(before.uncovered.get(path), after.uncovered.get(path))))


def is_same(one: SizeAndTime | None, other: SizeAndTime | None) -> bool:
    """Return whether size and time are the same: some file systems change the inode of a file that stays."""
    if one is None or other is None:
        return one is other
    return (one.size, one.modified) == (other.size, other.modified)


def above(path: str) -> Iterator[str]:
    """Yield the folders on the way to a path, the nearest first."""
    at = path.rfind("/")
    while at > 0:
        path = path[:at]
        yield path
        at = path.rfind("/")
