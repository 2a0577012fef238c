"""The index of a folder of sessions: their summaries in one file, so that a list opens only what changed.

How it works. One file next to the folder of sessions has the summary of each, with the stamp of the journal that it
was made from. A list looks at the times and sizes of the journals, takes the summaries whose stamps agree, and makes
the others from the journals. Then it replaces the file.

It is a cache, never truth. The file is replaced as a whole and carries its checksum: a reader sees a whole one, or
throws it away and makes every summary again. Of two processes that write at once the last one wins, and what the other
one knew is made again. A summary is kept only if its journal rested for a while before it was read: a file system has
a coarse clock, so a journal that changes twice in one tick may look unchanged.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from holdfast.session.catalog import Stamp
from holdfast.system.bounded_files import read_bounded
from holdfast.system.durable_files import replace_file
from holdfast.typed_data import decode_json

LARGEST_LIST_INDEX = 1 << 28
"""Bytes of an index that are read, enough for half a million sessions. A larger one is not used."""

RESTED = 1.0
"""Seconds for which a journal must not have changed before a summary of it is kept."""

_FORMAT = b"holdfast sessions 1"


class IndexedSession(msgspec.Struct, frozen=True, array_like=True):
    """The summary of a session as its journal had it at `stamp`; `bytes` is its size on disk then."""

    cwd: str
    title: str
    model: str
    created: float
    bytes: int
    stamp: Stamp
    repository: tuple[str, ...] = ()


def index_path(root: Path) -> Path:
    """Return the path of the index of the sessions in `root`."""
    return root.with_name(f"{root.name}.index")


def read_index(path: Path) -> dict[str, IndexedSession]:
    """Return the summaries by session id; none if there is no index, or it is not whole."""
    try:
        head, _, body = read_bounded(path, LARGEST_LIST_INDEX).partition(b"\n")
        return decode_json(body, dict[str, IndexedSession]) if head == _head(body) else {}
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def write_index(path: Path, sessions: Mapping[str, IndexedSession]) -> None:
    """Replace the index, without a sync: what a power loss leaves of it is recognized by its checksum."""
    body = msgspec.json.encode(sessions)
    with contextlib.suppress(OSError):  # a full or read-only disk: a list takes longer
        if len(body) < LARGEST_LIST_INDEX and path.parent.is_dir():
            replace_file(path, b"%s\n%s" % (_head(body), body), durable=False)


def has_rested(stamp: Stamp, now: float) -> bool:
    """Return whether no file of the journal changed in the last moments, and none seems to come from the future."""
    return bool(stamp) and max(at for at, _ in stamp) / 1e9 < now - RESTED


def _head(body: bytes) -> bytes:
    """Return the first line of an index with this body."""
    return b"%s %d %08x" % (_FORMAT, len(body), zlib.crc32(body))
