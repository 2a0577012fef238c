"""Reads a session from its last checkpoint."""

from __future__ import annotations

from holdfast.session.conversation.checkpoint import decode_checkpoint, sent_positions
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.storage.sqlite_store import SqliteStore


def resumed_reading(store: SqliteStore) -> ResumedReading | None:
    """Return the journal from its last checkpoint on. None if there is none that can be used: all must be read."""
    saved = store.saved_fold
    checkpoint = None if saved is None else decode_checkpoint(saved.state)
    if saved is None or checkpoint is None or checkpoint.fold.opened is None:
        return None
    first = min(checkpoint.turn_began or saved.seq, saved.seq)
    read = store.read_after(first - 1)
    positions = sent_positions(checkpoint.fold)
    texts = store.outcome_texts(positions)
    if read is None or len(texts) < len(set(positions)):
        return None
    return ResumedReading(
        records=read.records,
        checkpoint=checkpoint,
        seq=saved.seq,
        texts=texts,
        size=len(saved.state),
        verified=saved.verified,
    )
