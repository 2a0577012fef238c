"""The entries of a copy of a session."""

from __future__ import annotations

import msgspec

from holdfast.errors import DamageError
from holdfast.session.journal.entries import (
    FORMAT,
    Entry,
    Repaired,
    SessionOpened,
)
from holdfast.session.journal.store import Reading
from holdfast.session.transfer.transfer import without_signatures


def fork_entries(
    reading: Reading, session: str, *, opened: SessionOpened | None = None, until: int | None = None
) -> tuple[Entry, ...]:
    """Return the entries of `reading`, up to position `until` if given, as the journal of a new session.

    The new session names its original. `opened` replaces a lost first entry; then everything signed under the lost one
    is dropped. Raises `DamageError` if the first entry is lost and `opened` is missing.
    """
    entries = [record.entry for record in reading.records if until is None or record.seq <= until]
    first = next((index for index, entry in enumerate(entries) if isinstance(entry, SessionOpened)), None)
    if first is not None:
        found = entries.pop(first)
        opened = found if isinstance(found, SessionOpened) else opened
    if first is None or first > 0:
        entries = [without_signatures(entry) for entry in entries]
    if opened is None:
        raise DamageError(
            "Session cannot be forked: its first entry, which names its directory and tools, is lost. "
            "Export the session, and import the file as a new one."
        )
    repaired = (Repaired(findings=tuple(each.what for each in reading.findings)),) if reading.findings else ()
    return (
        msgspec.structs.replace(opened, session=session, forked_from=opened.session, format=FORMAT),
        *entries,
        *repaired,
    )
