"""The entries of a copy of a session, and entries without what their provider signed."""

from __future__ import annotations

import msgspec

from holdfast.errors import DamageError
from holdfast.session.journal.entries import (
    FORMAT,
    Entry,
    Repaired,
    ResponseEnded,
    SessionOpened,
)
from holdfast.session.journal.parts import ThinkingPart
from holdfast.session.journal.store import Reading


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


def without_signatures(entry: Entry) -> Entry:
    """Return the entry without thinking that is bound to its original requests."""
    if not isinstance(entry, ResponseEnded):
        return entry
    parts = tuple(part for part in entry.parts if not (isinstance(part, ThinkingPart) and _bound(part)))
    return msgspec.structs.replace(entry, parts=parts)


def _bound(part: ThinkingPart) -> bool:
    return part.signature is not None or part.id is not None or part.details is not None
