"""A local session that this process has open: its journal, and its waiting rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from holdfast.fleet.record import InboxRow, matches_entry
from holdfast.session.journal import entries as e
from holdfast.session.journal.store import Store
from holdfast.ui.service.local.inbox_file import InboxFile
from holdfast.ui.service.local.served_session import ServedSession


class LocalHeldSession:
    """A `HeldSession` over a session's own files and the `InboxFile`.

    The journal and the inbox are two files. A row is marked after its entry is durable. If the process dies between the
    two, the row is marked when the session is opened again.
    """

    def __init__(self, served: ServedSession, inbox: InboxFile) -> None:
        self.id = served.session.id
        self.store: Store = served.session.store
        self.crashed = False
        self.tries = 0
        self.place: dict[str, object] = {}
        self.place_before: dict[str, object] = {}
        self._served = served
        self._inbox = inbox
        self._expected: dict[int, InboxRow] = {}
        self._changed: Callable[[], None] = lambda: None
        self._names: dict[int, str] = {}

    def waiting_rows(self) -> tuple[InboxRow, ...]:
        """Return the rows that are not done, in order."""
        rows = self._inbox.waiting(self.id)
        self._names = {each.row.id: each.name for each in rows}
        return tuple(each.row for each in rows)

    def name_of(self, row: InboxRow) -> str:
        """Return the id that the entry of a message carries."""
        return self._names.get(row.id, "")

    def expect(self, row: InboxRow) -> None:
        """Mark `row` as done with the next entry of its kind."""
        self._expected[row.id] = row

    def forget(self, row: InboxRow) -> None:
        """Expect no entry for `row` any more."""
        self._expected.pop(row.id, None)

    def recorded(self, seq: int, entry: e.Entry) -> None:
        """Mark the row that became this entry, which is durable."""
        for row in tuple(self._expected.values()):
            name = self._names.get(row.id, "") if row.kind in {"prompt", "steer", "later"} else ""
            if matches_entry(row, entry, name=name):
                self._inbox.done(row.id, seq=seq)
                self.forget(row)
                return

    def close_row(self, row: InboxRow, why: str = "") -> None:
        """Mark `row` as done without an entry. `why` is the reason if nothing was done, else ""."""
        self.forget(row)
        self._inbox.done(row.id, refused=why)

    def watch(self, changed: Callable[[], None]) -> None:
        """Call `changed` from any thread when a row may have arrived."""
        self._changed = changed
        changed()

    def wake(self) -> None:
        """Check the rows again. Any thread may call it."""
        self._changed()

    def put_place(self, place: Mapping[str, object]) -> None:
        """Do nothing: a local session stays in its folder."""

    def release(
        self,
        place: Mapping[str, object] | None = None,
        *,
        parked: bool = False,
        hold_reason: str = "",
        requeue: bool = False,
    ) -> bool:
        """Release the session. Return false, and do nothing, if a row waits."""
        del place
        if (
            not requeue
            and not hold_reason
            and any(not (parked and row.kind == "prompt") for row in self.waiting_rows())
        ):
            return False
        self._inbox.drop(self.id)
        return True

    def close(self) -> None:
        """Release the journal and the debug log. Closing twice is fine."""
        self._changed = lambda: None
        try:
            self._served.closing.close()
        finally:
            self.store.close()

    def reconcile(self) -> None:
        """Mark the rows whose entry is in the journal: the previous process died before it marked them."""
        found: dict[str, int] = {}
        answered: dict[str, int] = {}
        for record in self._served.session.reading.records:
            match record.entry:
                case e.PromptAccepted(queued=name) | e.Queued(id=name) if name:
                    found.setdefault(name, record.seq)
                case e.ApprovalAnswered(call=call):
                    answered.setdefault(call, record.seq)
                case _:
                    pass
        used_seqs = self._inbox.used_seqs(self.id)
        for each in self._inbox.waiting(self.id):
            seq = found.get(each.name)
            if each.row.kind == "answer":
                seq = answered.pop(str(each.row.body.get("question")), None)  # one answer counts
            if seq is not None and seq not in used_seqs:
                self._inbox.done(each.row.id, seq=seq)
