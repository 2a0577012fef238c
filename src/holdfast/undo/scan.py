"""What a tree of git cannot say of a folder: permissions, empty folders, and files whose content is not kept. Pure."""

from __future__ import annotations

import msgspec

from holdfast.typed_data import decode_json

DEPENDENCY_FOLDERS = (
    *("node_modules", "bower_components", ".venv", "venv", "site-packages", "__pycache__", ".tox", ".nox", ".eggs"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".m2", ".cargo", ".rustup", ".pnpm-store", ".yarn"),
    *(".next", ".nuxt", ".turbo", ".parcel-cache", ".terraform", ".cache", ".hg", ".svn", ".jj"),
)
"""Folders of dependencies and caches, wherever they lie: what is in them is neither looked at nor kept."""

USUAL_MODES = (0o644, 0o755)
"""The permissions that a tree can say."""


class SizeAndTime(msgspec.Struct, frozen=True, array_like=True):
    """The size of a file, and when it was last changed, in nanoseconds."""

    size: int
    modified: int


class Scan(msgspec.Struct, frozen=True):
    """The unusual `modes` of files, `empty` folders, and the `uncovered` files; paths are relative to the top."""

    modes: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    empty: tuple[str, ...] = ()
    uncovered: dict[str, SizeAndTime] = msgspec.field(default_factory=dict[str, SizeAndTime])


def encode_scan(scan: Scan) -> bytes:
    """Return the bytes in which a scan is kept; the same scan gives the same bytes."""
    return msgspec.json.encode(scan, order="sorted")


def decode_scan(data: bytes) -> Scan:
    """Return the scan of these bytes; raises `msgspec.DecodeError`."""
    return decode_json(data, Scan)


def changed_uncovered(before: Scan, after: Scan) -> tuple[str, ...]:
    """Return the files whose content is not kept, and that are new, gone, or changed."""
    both = before.uncovered | after.uncovered
    return tuple(sorted(path for path in both if before.uncovered.get(path) != after.uncovered.get(path)))
