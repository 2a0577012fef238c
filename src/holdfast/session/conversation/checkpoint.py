"""The checkpoint of a session: what its process knows from the journal at the end of a turn, as bytes.

How it works. `Checkpoint` has the fold without large results, and what else is taken from entries when a session is
resumed. It is written at the end of a turn, if more was journalled since the last one than writing it takes: so it
costs a constant part of what the journal costs, however long that is. A process that resumes the session decodes it and
folds only the entries after it. The large results of messages to send are read from the journal, and verified then; if
one cannot be read, the checkpoint is not used.

Why not trust it alone? It is a cache. `fold_version` is the digest of every module that decides what a fold is, so
another holdfast's checkpoint is no checkpoint. The storage knows which row of which journal it belongs to.

Laws (`tests/session/conversation/test_fold_state_laws.py`): a fold that continues from a checkpoint is the fold
from the first entry, for each journal and each cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

import holdfast
from holdfast.session.conversation import fold_state
from holdfast.session.conversation.fold import Fold
from holdfast.session.conversation.fold_state import Checkpoint, ResumedReading
from holdfast.session.journal.entries import Cause
from holdfast.system.bounded_files import STATE_FILE, read_bounded
from holdfast.typed_data import decode_json

FOLDING = (
    "history/tokens.py",
    "questions.py",
    "session/conversation/checkpoint.py",
    "session/conversation/conversation.py",
    "session/conversation/fold.py",
    "session/conversation/fold_state.py",
    "session/conversation/message_builder.py",
    "session/conversation/task_record.py",
    "session/conversation/token_estimate.py",
    "session/journal/approvals.py",
    "session/journal/calls.py",
    "session/journal/causes.py",
    "session/journal/entries.py",
    "session/journal/mode_changes.py",
    "session/journal/model_settings.py",
    "session/journal/older_fields.py",
    "session/journal/parts.py",
    "session/journal/request_changes.py",
    "session/journal/restores.py",
    "session/journal/server_changes.py",
    "session/journal/store.py",
    "session/journal/tasks.py",
    "session/model_notices.py",
    "text.py",
    "tool_calls.py",
)
"""The modules that decide what a fold is: this one, and every module that it imports but for errors and files."""


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Return the checkpoint as bytes."""
    return msgspec.json.encode(checkpoint)


def decode_checkpoint(data: bytes) -> Checkpoint | None:
    """Return the checkpoint, None if these bytes are none."""
    try:
        return decode_json(data, Checkpoint)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def sent_positions(state: fold_state.FoldState) -> list[int]:
    """Return where the journal has the large results of the messages to send."""
    builder = state.builder
    sent = (result for user in builder.closed.users for result in user.results)
    return fold_state.left_out([*sent, *builder.results], builder.entries)


def restored_fold(reading: ResumedReading, source: fold_state.TextSource, *, left: Cause = "crash") -> Fold:
    """Return the fold at the checkpoint. Texts that are not in `reading` come from `source`."""

    def texts(seqs: Sequence[int]) -> Mapping[int, str]:
        if not (absent := [seq for seq in seqs if seq not in reading.texts]):
            return reading.texts
        return {**{seq: reading.texts[seq] for seq in seqs if seq in reading.texts}, **source(absent)}

    return Fold.restored(reading.checkpoint.fold, texts=texts, left=left)


@cache
def fold_version() -> str:
    """Return what identifies the fold of this holdfast, "" if that cannot be found out: then nothing is kept."""
    digest = hashlib.blake2b(f"{holdfast.__version__} {msgspec.__version__}".encode(), digest_size=16)
    root = Path(holdfast.__file__).parent
    try:
        for name in FOLDING:
            digest.update(read_bounded(root / name, STATE_FILE))
    except OSError:
        return ""
    return digest.hexdigest()
