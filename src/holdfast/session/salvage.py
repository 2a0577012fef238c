"""What salvage does with files: keep the damaged ones, look at them in three ways, put a replacement in their place.

Two rules. A damaged file is never changed and never deleted, only copied. A replacement is decided by one rename, and
finished by whoever opens the session next.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.session.disk import DATABASE, sync_path
from holdfast.session.store import Finding
from holdfast.session.wal import PAGE, beside, copy_files, replay

NEW = DATABASE + ".new"
"""A whole replacement for the database: where it is, it is the journal."""

_TABLE_LEAF = 0x0D


def keep(path: Path) -> Path:
    """Return the path of a durable copy of the database, its companions beside it."""
    kept = _free(path)
    for suffix in ("-wal", "-journal", ""):
        if beside(path, suffix).is_file():
            beside(kept, suffix).unlink(missing_ok=True)  # of a copy that power loss or a kill cut short
            with beside(path, suffix).open("rb") as damaged, beside(kept, suffix).open("xb") as copy:
                shutil.copyfileobj(damaged, copy)
            shutil.copystat(beside(path, suffix), beside(kept, suffix))
            sync_path(beside(kept, suffix))
    sync_path(path.parent)
    return kept


def _free(path: Path) -> Path:
    """Return a name beside the database, under which nothing is, for a damaged file."""
    number = 1
    while os.path.lexists(kept := path.with_name(f"{DATABASE}.damaged-{number}")):
        number += 1
    return kept


def put_aside(path: Path, why: str) -> Finding:
    """Keep a replacement that may not take the place of the database under the name of a damaged file."""
    kept = _free(path)
    path.with_name(NEW).rename(kept)
    sync_path(path.parent)
    return unused(why, kept)


def unused(why: str, kept: Path | None = None) -> Finding:
    """Return what is reported of a replacement that did not take the place of the database."""
    aside = f" It is kept as {kept.name}." if kept else ""
    return Finding(seq=0, what=f"The file {NEW} was not put in the place of {DATABASE}: {why}.{aside}")


def finding(why: str, rows: int, kept: Path | None = None) -> Finding:
    """Return what is told of a damaged database of which so many rows could be read."""
    aside = f" The damaged file is kept as {kept.name}." if kept else ""
    what = f"The file {DATABASE} is damaged ({why}); {rows} entries could be read, later ones may be lost.{aside}"
    return Finding(seq=0, what=what)


def settle(path: Path) -> None:
    """Finish a replacement that was decided: the old log goes first, else SQLite would replay it over the new file."""
    new = path.with_name(NEW)
    if new.is_file():
        for suffix in ("-wal", "-journal"):
            beside(path, suffix).unlink(missing_ok=True)
        sync_path(path.parent)
        new.replace(path)
        sync_path(path.parent)


def views(path: Path, scratch: Path, build: Callable[[Path], None]) -> Iterator[Path]:
    """Yield copies of a damaged database, made in the folder `scratch`, the most trustworthy first.

    The first is as SQLite sees it. For the others its log is replayed by hand, since SQLite drops a log from its first
    bad byte; its first page, which holds the header and the schema and is always the same, is that of an empty journal
    made by `build`; and each leaf in turn is put where the table begins, so that no other page has to be whole.
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
