"""How the undo of files takes part in a session: nothing of it is loaded before a call acts, or it is asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.agent.events import Event, Fact
from holdfast.agent.seam import LeftBehind, PlannedCall, Seam, Seen
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Reading
from holdfast.system.durable_files import UNDO_FOLDER

if TYPE_CHECKING:
    from holdfast.agent.journal_writer import JournalWriter
    from holdfast.config.undo_settings import UndoTable
    from holdfast.tools.toolbox import LocalToolbox
    from holdfast.undo.session_undo import SessionUndo


class KeptFiles:
    """The undo of the session whose tools are `tools` and whose journal was `reading` when it was opened."""

    def __init__(self, tools: LocalToolbox, reading: Reading, *, table: UndoTable | None = None) -> None:
        """Create it; `table` says how much may be kept."""
        self._table = table
        self._folder = tools.folder / UNDO_FOLDER
        self._root: Path = tools.root
        self._private = tools.private
        self._reading: Reading | None = reading
        self._undo: SessionUndo | None = None
        self._left = any(isinstance(each.entry, e.SnapshotTaken | e.RestoreStarted) for each in reading.records)

    @property
    def undo(self) -> SessionUndo:
        """Return the undo itself, loaded from now on."""
        if self._undo is None:
            from holdfast.config.undo_settings import bytes_of
            from holdfast.undo.budget import UndoBudget
            from holdfast.undo.session_undo import SessionUndo

            reading, self._reading = self._reading, None
            assert reading is not None
            self._undo = SessionUndo(self._folder, self._root, reading=reading, private=self._private)
            if (table := self._table) is not None:
                session, total = bytes_of(table.max_size), bytes_of(table.max_total)
                self._undo.budget = UndoBudget(turns=table.keep, session=session, total=total)
        return self._undo

    def seam(self) -> Seam:
        """Return how it takes part in turns."""
        return Seam(
            before_start=(self.before_start,), after_call=(self.after_call,), recovery=(self,), look=(self.look,)
        )

    def bound(self, journal: Callable[[], JournalWriter], emit: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return an `emit` that it hears too; what it sees behind a turn goes to the journal."""

        def heard(event: Event) -> None:
            emit(event)
            if self._undo is not None and isinstance(event, Fact):
                self._undo.hear(event.entry, journal())

        return heard

    def before_start(self, planned: PlannedCall) -> Awaitable[Sequence[e.SnapshotTaken | e.FilesMoved]] | None:
        """Keep what an allowed call may change; None for one that only reads."""
        plan = planned.plan
        if plan.effect == "read" or planned.confined == "read" or (plan.effect == "write" and not plan.changes):
            return None
        return self.undo.before_start(planned)

    def after_call(self, ended: e.CallEnded) -> Awaitable[Sequence[e.FilesMoved]] | None:
        """Look at what a call has changed; None for one that changes nothing."""
        return None if self._undo is None else self._undo.after_call(ended)

    async def look(self) -> Sequence[Seen]:
        """Return what calls without a look changed, and the end of a restore that a kill left half done."""
        return await self.undo.look() if self._left or self._undo is not None else ()

    @property
    def any_running(self) -> bool:
        """Return whether it still looks behind a turn."""
        return self._undo is not None and self._undo.any_running

    def orphans(self, conversation: Conversation) -> Sequence[LeftBehind]:
        """Return nothing: it starts no process that outlives a look."""
        del conversation
        return ()

    def missing_ends(
        self, conversation: Conversation, running: str, *, began: Mapping[str, float]
    ) -> Sequence[e.Entry]:
        """Return nothing: what is missing is in `look`."""
        del conversation, running, began
        return ()

    async def end(self, within: float) -> None:
        """Wait for a look that runs."""
        if self._undo is not None:
            await self._undo.end(within)
