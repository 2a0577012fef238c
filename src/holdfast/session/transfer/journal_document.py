"""A journal's entries as a document, as `sessions export --format json` writes it, read back.

What is kept is a closed list. An entry that would change the new session's model, mode, tools or permissions, or make
holdfast look for a process or a file of another session, is left out: a file from elsewhere must not do that.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.history.formats.format import Json, as_array, as_object, is_array
from holdfast.session.journal import entries as e
from holdfast.session.journal.older_fields import present_fields
from holdfast.session.journal.tasks import TaskEnded, TaskEndSent, TaskStarted
from holdfast.typed_data import convert_value

_KEPT = (
    e.Titled
    | e.PromptAccepted
    | e.Queued
    | e.Recalled
    | e.Steered
    | e.Rewound
    | e.Pruned
    | e.Compacted
    | e.Uncompacted
    | e.RequestFailed
    | e.ResponseCheckpoint
    | e.ResponseEnded
    | e.ApprovalAsked
    | e.CallEnded
    | e.CallLate
    | e.ShellEnded
    | e.TurnEnded
    | e.FilesChanged
    | e.Repaired
    | e.ServerFailed
    | e.ResultAmended
    | TaskEnded
    | TaskEndSent
)
"""The entries that are kept as they are."""

_UNREADABLE = "Entry {} could not be read and was left out."
_OWN = (
    "Changes of model, settings, mode and tools, remembered permissions, and processes were left out: the session has "
    "its own."
)


class JournalDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a journal after its first, and that one if it is there; `left_out` says what is not kept."""

    session: str
    opened: e.SessionOpened | None
    entries: tuple[e.Entry, ...]
    left_out: tuple[str, ...]


def is_journal(document: Json) -> bool:
    """Return whether this is a journal's document."""
    return is_array(document.get("records")) and "messages" not in document


def read_journal(document: Json) -> JournalDocument:
    """Return the entries of a journal's document. Never raises: what cannot be read is said in `left_out`."""
    found: list[e.Entry] = []
    opened: e.SessionOpened | None = None
    left_out: dict[str, None] = {}
    for number, record in enumerate(as_array(document.get("records")), start=1):
        try:
            entry = convert_value(present_fields(convert_value(record, _Record).entry), e.Entry)
        except msgspec.ValidationError:
            left_out[_UNREADABLE.format(number)] = None
            continue
        if isinstance(entry, e.SessionOpened) and opened is None:
            opened = entry
            continue
        safe = tuple(_safe_entry(entry))
        found += safe
        if not safe or (isinstance(entry, e.ApprovalAnswered) and safe != (entry,)):
            left_out[_OWN] = None
    for finding in map(as_object, as_array(document.get("findings"))):
        left_out[f"The exported journal was damaged: {finding.get('what')}"] = None
    session = document.get("session")
    return JournalDocument(
        session=session if isinstance(session, str) else "",
        opened=opened,
        entries=tuple(found),
        left_out=tuple(left_out),
    )


class _Record(msgspec.Struct, frozen=True):
    entry: dict[str, object]


def _safe_entry(entry: e.Entry) -> Iterator[e.Entry]:
    """Yield the entry as it is kept, or nothing."""
    match entry:
        case e.RequestStarted():
            yield msgspec.structs.replace(entry, prefix=None)  # of a body with another system prompt
        case e.CallStarted() | e.ShellStarted() | TaskStarted():
            yield msgspec.structs.replace(entry, spool=None)  # a file in the other session's folder
        case e.ApprovalAnswered():
            yield msgspec.structs.replace(entry, remember="", patterns=(), mode=None)
        case _ if isinstance(entry, _KEPT):
            yield entry
        case _:
            pass
