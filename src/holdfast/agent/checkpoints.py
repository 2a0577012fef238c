"""Writes checkpoints of a session at the end of turns.

What a kill leaves at each point is a table in docs/reference/journal.md. In short: the checkpoint is replaced as a
whole, after the entries that it stands for. So there is the old one or the new one, and later entries are folded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from holdfast.errors import StateError
from holdfast.session.conversation.fold import Fold
from holdfast.session.conversation.fold_state import Checkpoint, ResumedReading
from holdfast.session.journal.store import FoldStore, Reading, Store

LEAST_UNFOLDED = 1 << 19
"""Bytes of entries that are rather folded again than left to a checkpoint."""


class Checkpoints:
    """The checkpoints of one journal that this process writes."""

    def __init__(self, store: Store, reading: Reading) -> None:
        """Continue from what was read. A journal with damage has none: it is read from its first entry each time."""
        resumed = reading if isinstance(reading, ResumedReading) else None
        self._source = store if isinstance(store, FoldStore) else None
        self._store = None if reading.findings else self._source
        self._written = 0 if resumed is None else resumed.size
        self.turn_began = 0 if resumed is None else resumed.checkpoint.turn_began
        self.began: dict[str, float] = {} if resumed is None else dict(resumed.checkpoint.began)
        self.verified = 0 if resumed is None else resumed.verified
        """Where a verification of the entries before continues, 0 if that is done."""

    @property
    def is_due(self) -> bool:
        """Return whether more was journalled since the last checkpoint than writing one takes."""
        return self._store is not None and self._store.unfolded >= max(LEAST_UNFOLDED, self._written)

    def write(
        self,
        fold: Fold,
        *,
        length: int,
        reported: tuple[str, ...],
        failed_servers: Mapping[str, str],
        folder_gone: str,
    ) -> None:
        """Write the checkpoint of the first `length` entries, unless a turn is open in them."""
        from holdfast.session.conversation.checkpoint import encode_checkpoint, fold_version

        conversation = fold.conversation()
        version = fold_version()
        if self._store is None or not version or conversation.is_open or conversation.opened is None:
            return
        running = {shell.started.id for shell in conversation.open_shells}
        running |= {task.started.id for task in conversation.open_tasks}
        checkpoint = Checkpoint(
            fold=fold.state(),
            turn_began=self.turn_began,
            failed_servers=dict(failed_servers),
            folder_gone=folder_gone,
            began={name: at for name, at in self.began.items() if name in running},
            reported=reported,
        )
        state = encode_checkpoint(checkpoint)
        with suppress(StateError):  # a cache: what is wrong with the journal, the next append says
            self._store.keep_fold(state, version=version, expected=length, verified=self.verified)
        self._written = len(state)
        fold.release(self.texts)

    def restored(self, resumed: ResumedReading) -> Fold:
        """Return the fold of a checkpoint, before the entries that follow it."""
        from holdfast.session.conversation.checkpoint import restored_fold

        return restored_fold(resumed, self.texts)

    def texts(self, seqs: Sequence[int]) -> Mapping[int, str]:
        """Return the texts of the outcomes at these positions, without those that cannot be read."""
        return {} if self._source is None else self._source.outcome_texts(seqs)

    def give_up(self) -> None:
        """Delete the checkpoint, and write no other: the journal has damage."""
        if self._store is not None:
            self._store.drop_fold()
            self._store = None
