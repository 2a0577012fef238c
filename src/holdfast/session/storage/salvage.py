"""The file operations of salvage: keep damaged files, view them in three ways, put a replacement in their place.

A damaged file is never changed or deleted, only copied. One rename decides on a replacement; whichever process opens
the session next completes it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.session.journal.store import Finding
from holdfast.session.storage.wal import PAGE, companion_path, copy_files, replay
from holdfast.system.durable_files import DATABASE, sync_path

NEW = DATABASE + ".new"
"""A complete replacement for the database. If it exists, it is the journal."""

_TABLE_LEAF = 0x0D


def keep_copy(path: Path) -> Path:
    """Return the path of a durable copy of the database and its companion files."""
    copied = _free(path)
    for suffix in ("-wal", "-journal", ""):
        if companion_path(path, suffix).is_file():
            companion_path(copied, suffix).unlink(
                missing_ok=True
            )  # left by a copy that a power loss or a kill interrupted
            with companion_path(path, suffix).open("rb") as damaged, companion_path(copied, suffix).open("xb") as copy:
                shutil.copyfileobj(damaged, copy)
            shutil.copystat(companion_path(path, suffix), companion_path(copied, suffix))
            sync_path(companion_path(copied, suffix))
    sync_path(path.parent)
    return copied


def _free(path: Path) -> Path:
    """Return an unused name next to the database for a damaged file."""
    number = 1
    while os.path.lexists(unused_path := path.with_name(f"{DATABASE}.damaged-{number}")):
        number += 1
    return unused_path


def put_aside(path: Path, why: str) -> Finding:
    """Keep an unusable replacement under the name of a damaged file."""
    target = _free(path)
    path.with_name(NEW).rename(target)
    sync_path(path.parent)
    return unused(why, target)


def unused(why: str, copy: Path | None = None) -> Finding:
    """Return the finding for a replacement that was not used."""
    place = f" It is kept as {copy.name}." if copy else ""
    return Finding(seq=0, what=f"The file {NEW} was not put in the place of {DATABASE}: {why}.{place}")


def damage_finding(why: str, rows: int, copy: Path | None = None) -> Finding:
    """Return the finding for a damaged database of which this many rows could be read."""
    place = f" The damaged file is kept as {copy.name}." if copy else ""
    what = f"The file {DATABASE} is damaged ({why}); {rows} entries could be read, later ones may be lost.{place}"
    return Finding(seq=0, what=what)


def finish_replacement(path: Path) -> None:
    """Complete a decided replacement. The old log is deleted first, or SQLite would replay it over the new file."""
    new = path.with_name(NEW)
    if new.is_file():
        for suffix in ("-wal", "-journal"):
            companion_path(path, suffix).unlink(missing_ok=True)
        sync_path(path.parent)
        new.replace(path)
        sync_path(path.parent)


def views(path: Path, scratch: Path, build: Callable[[Path], None]) -> Iterator[Path]:
    """Yield copies of a damaged database in the folder `scratch`, the most trustworthy first.

    The first is what SQLite sees. For the others the log is replayed by hand, because SQLite drops a log from its first
    bad byte. Their first page (header and schema, always the same) comes from an empty journal made by `build`. Each
    leaf page in turn is put where the table begins, so that no other page has to be intact.
    """
    yield copy_files(path, scratch / "as-it-is")
    by_hand = copy_files(path, scratch / "by-hand")
    replay(by_hand)
    pages = by_hand.read_bytes()
    build(scratch / DATABASE)
    first = bytearray((scratch / DATABASE).read_bytes()[:PAGE])
    first[28:32] = (len(pages) // PAGE).to_bytes(4, "big")  # the size of the database
    with by_hand.open("r+b") as file:
        file.write(first)
        for start in range(PAGE, len(pages), PAGE):
            if pages[start] == _TABLE_LEAF:
                file.seek(PAGE)
                file.write(pages[start : start + PAGE])
                file.flush()
                yield by_hand
