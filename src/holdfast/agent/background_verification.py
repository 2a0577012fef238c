"""Verifies, while a resumed session works, the entries that a checkpoint stood for, which were not read.

It begins with the first request and takes a tenth of a core: a few rows are read on the thread that owns the store, and
verified on another. Damage is reported with the next prompt, as any damage is, and the checkpoint is deleted, so that
the next process reads every entry. A process that ends earlier leaves its position to the next checkpoint.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from holdfast.agent.checkpoints import Checkpoints
from holdfast.errors import StateError
from holdfast.session.conversation.fold_state import ResumedReading
from holdfast.session.journal.store import FoldStore
from holdfast.system.threads import in_daemon

_ROWS = 64
"""Rows that are read at once: at most 2 MB without their blobs."""

_FIRST = 0.2
"""Seconds after the beginning of the turn, in which the request is sent."""

_PAUSE = 9.0
"""Times of the work that it pauses after it."""


class BackgroundVerification:
    """One verification, which begins at most once. `report` gets sentences about the damage."""

    def __init__(
        self,
        store: FoldStore,
        reading: ResumedReading,
        *,
        checkpoints: Checkpoints,
        report: Callable[[Sequence[str]], None],
        pause: float = _PAUSE,
    ) -> None:
        self._store = store
        self._last = reading.seq
        self._checkpoints = checkpoints
        self._report = report
        self._pause = pause
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin, unless it has begun."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._verify(), name="verification")

    async def end(self) -> None:
        """End it, wherever it is."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def wait(self) -> None:
        """Wait until everything is verified."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _verify(self) -> None:
        await asyncio.sleep(_FIRST)
        after = self._checkpoints.verified
        before: bytes | None = None if after else b""
        while after < self._last:
            begun = time.monotonic()
            try:
                rows = self._store.some_rows(after, min(_ROWS, self._last - after))
            except StateError as failed:  # the disk does not answer: the next request says so, if that lasts
                self._found((str(failed),))
                return
            if not rows:
                self._found((f"Entries after {after} cannot be read.",))
                return
            found = await in_daemon(partial(self._store.verified, rows, after=after, before=before))
            if found:
                self._found(tuple(each.what for each in found))
            seq, link = rows[-1][0], rows[-1][-1]
            assert isinstance(seq, int)  # SQLite's rowid is always an integer
            after, before = seq, link if isinstance(link, bytes) else None
            self._checkpoints.verified = after
            await asyncio.sleep(self._pause * (time.monotonic() - begun))
        self._checkpoints.verified = 0

    def _found(self, what: Sequence[str]) -> None:
        self._checkpoints.give_up()
        self._report(what)
