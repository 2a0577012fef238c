"""The notes of a session: what happened to it that nobody said and no call did, in words."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.session.entries import (
    Compacted,
    FilesChanged,
    ModelChanged,
    Pruned,
    Repaired,
    RequestFailed,
    SessionOpened,
    Titled,
    TurnEnded,
    Uncompacted,
)
from holdfast.session.words import UNCOMPACTED, compacted, files_changed, from_here_on, pruned, what_happened
from holdfast.ui.blocks import Note, TurnEnd
from holdfast.ui.table import home

Noted = SessionOpened | ModelChanged | Titled | Pruned | Compacted | Uncompacted | FilesChanged | Repaired
"""Entries that are notes and nothing else."""


def notes(seq: str, entry: Noted) -> Iterator[Note]:
    """Yield the notes that the entry in place `seq` gives."""
    match entry:
        case SessionOpened():
            yield Note(key=f"{seq}.session", kind="session", text=_opened(entry))
        case ModelChanged():
            yield Note(key=f"{seq}.model", kind="model", text=from_here_on(entry))
        case Titled():
            yield Note(key=f"{seq}.titled", kind="session", text=from_here_on(entry))
        case Pruned(outputs=outputs, saved=saved):
            yield Note(key=f"{seq}.pruned", kind="context", text=pruned(len(outputs), saved))
        case Compacted(note=note):
            yield Note(key=f"{seq}.compacted", kind="context", text=compacted(entry), detail=note)
        case Uncompacted():
            yield Note(key=f"{seq}.uncompacted", kind="context", text=UNCOMPACTED)
        case FilesChanged(files=files):
            yield Note(key=f"{seq}.files", kind="files", text=files_changed(files))
        case Repaired(findings=findings, note=note):
            for number, found in enumerate(findings):
                yield Note(key=f"{seq}.damage{number}", kind="damage", text=found)
            if note:
                yield Note(key=f"{seq}.repaired", kind="repaired", text=note)


def failure(seq: str, entry: RequestFailed) -> Note:
    """Return the note of an attempt that gave no response: why, and whether there is another."""
    fault = entry.fault.replace("_", " ")
    if entry.retry_in is None:
        return Note(key=f"{seq}.failed", kind="failed", text=f"Request failed ({fault}): {entry.message}")
    of = "" if entry.attempts is None else f" of {entry.attempts}"
    how = ", without streaming" if entry.retry_whole else ""
    said = f"Attempt {entry.attempt}{of} failed ({fault}), again after {entry.retry_in:g} s{how}."
    return Note(key=f"{seq}.failed", kind="retry", text=said, detail=entry.message)


def turn_end(seq: str, entry: TurnEnded, *, told: str) -> TurnEnd:
    """Return how a turn ended: why, unless it ended by itself, and in detail, unless that was `told` just before."""
    detail = "" if entry.detail == told else entry.detail
    text = "" if entry.cause == "finished" else what_happened(entry.cause, detail)
    return TurnEnd(key=f"{seq}.end", turn=entry.turn, reason=entry.reason, cause=entry.cause, text=text)


def _opened(entry: SessionOpened) -> str:
    folder = home(entry.cwd)
    said = f"{folder} with {entry.model}" if entry.model else folder
    if entry.forked_from is not None:
        said += f", a copy of session {entry.forked_from}"
    if entry.imported_from is not None:
        said += f", imported from {entry.imported_from}"
    return said
