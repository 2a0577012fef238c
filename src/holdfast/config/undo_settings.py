"""The table `[undo]` of the config: how much is kept of files, of one session and of all."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

_SIZE = re.compile(r"([1-9][0-9]{0,8}) ?(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)")
_UNITS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12} | {
    name: 1 << (10 * power) for power, name in enumerate(("KiB", "MiB", "GiB", "TiB"), 1)
}


def bytes_of(size: str) -> int:
    """Return the bytes that a text such as `1 GiB` means; raises `ValueError`."""
    found = _SIZE.fullmatch(size)
    if found is None:
        raise ValueError(f"Size {size[:40]!r} is no number with a unit (expected one such as '1 GiB' or '500 MB')")
    return int(found[1]) * _UNITS[found[2]]


class UndoTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is kept of files: of the newest `keep` turns always, of older ones within `max_size` a session.

    `max_total` is for all sessions together: beyond it, a session keeps nothing of turns before the newest ones.
    """

    keep: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 50
    max_size: str = "1 GiB"
    max_total: str = "5 GiB"

    def __post_init__(self) -> None:
        for size in (self.max_size, self.max_total):
            bytes_of(size)
