"""The local sessions of one user, driven in this process, behind the interface of a fleet."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from holdfast.agent.events import Event
from holdfast.errors import HoldfastError, SessionBusy, UsageError
from holdfast.fleet.record import FleetSession, FleetState, FleetStatus, FleetWorker, InboxBody, InboxKind, InboxRow
from holdfast.session.catalog import Catalog, SessionSummary, journal_stamp
from holdfast.session.journal.store import Reading, StoredEntry
from holdfast.session.session_id import checked_id, is_session_id
from holdfast.session.storage.lease import raise_if_busy
from holdfast.session.storage.sqlite_store import read_copy
from holdfast.system.user_directories import homes
from holdfast.ui.service.inbox_body import check_body
from holdfast.ui.service.local.driven_session import DrivenSession, SessionHooks
from holdfast.ui.service.local.inbox_file import InboxFile
from holdfast.ui.service.local.served_session import create_session, exact_summary, folder_of, open_served_session
from holdfast.ui.service.local.session_table import SessionTable
from holdfast.ui.service.serve_arguments import ServeArguments
from holdfast.ui.startup.debug_log_option import debug_log_note
from holdfast.ui.view.session_costs import Spending

_READINGS = 8
"""Maximum journals kept in memory, besides those of driven sessions."""
_LOOK_AGAIN = 1.0
"""Seconds between two attempts to open a session that another process has open while messages wait for it."""
_SESSIONS_CLOSE_WITHIN = 15.0
"""Seconds in which all sessions must be closed at the end."""

LiveListener = Callable[[StoredEntry | Event], None]
"""Called on the thread of a session with each entry and each live event, in order; it must not block."""


class LocalFleet:
    """`FleetRecord` over the sessions of this user. At most `arguments.slots` are open at once.

    A session is closed after it was idle for `arguments.linger` seconds, so that another program can open it; at once
    if another session waits for a slot.

    Rule: once `ask` has returned, its row is recorded exactly once, at whatever point the process is killed.
    """

    def __init__(
        self,
        arguments: ServeArguments,
        environ: Mapping[str, str],
        *,
        cwd: Path,
        roots: tuple[Path, ...],
    ) -> None:
        """Open the inbox. Raise `StateError` if another server has it open. `start` starts the work."""
        self._arguments = arguments
        self._environ = environ
        self._cwd = cwd
        self._roots = roots
        self._catalog = Catalog(homes(environ).sessions)
        self._inbox = InboxFile(homes(environ).service / "inbox.db", notify=debug_log_note)
        self._lock = threading.RLock()
        self._making = threading.Lock()
        self._hooks = SessionHooks(self._publish, self._ended, self._give_slot)
        self._driven: dict[str, DrivenSession] = {}
        self._elsewhere: dict[str, str] = {}
        self._without_slot: set[str] = set()
        self._unreadable: set[str] = set()
        self._listeners: dict[str, list[LiveListener]] = {}
        self._readings: OrderedDict[str, tuple[object, Reading]] = OrderedDict()
        self._costs: dict[str, tuple[object, str]] = {}
        self._table = SessionTable(self._catalog, self._describe, live=self._live_summary)
        self._waited: dict[str, float] = {}
        self._touched: set[str] = set()
        self._closed = threading.Event()
        self._since = time.time()
        self._thread = threading.Thread(target=self._watch_rows, name="waiting sessions", daemon=True)

    def start(self) -> None:
        """Resume the sessions that an earlier server left, and those with waiting rows."""
        for session in self._inbox.driven():
            self._drive(session)
        self._thread.start()

    # --- the record of a fleet ----------------------------------------------------------------------------------

    def create(self, *, model: str, place: InboxBody, sender: str, title: str = "", id: str = "") -> str:  # noqa: A002 - as the interface has it
        """Return the id of a new session in the folder that `place` names. Its first entry is durable."""
        path = place.get("cwd", "")
        if not isinstance(path, str) or place.keys() - {"cwd"}:
            raise UsageError(
                "Place is invalid (expected an object with a cwd). Name a folder as its cwd, or leave it out."
            )
        if id:
            checked_id(id)
        folder = folder_of(path, self._cwd, self._roots)
        with self._making:
            session = create_session(self._arguments, self._environ, folder, model=model, session_id=id)
        if title:
            self.ask(session, "rename", {"title": title}, sender=sender)
        return session

    def sessions(
        self, state: FleetState | None = None, *, limit: int = 200, after: str = ""
    ) -> tuple[FleetSession, ...]:
        """Return sessions, most recently used first. `after` is the last id of the previous page."""
        self._follow_inbox()
        with self._lock:
            touched = {*self._touched, *self._driven, *self._elsewhere}
            self._touched = set()
        return self._table.sessions(state, limit=limit, after=after, touched=touched)

    def session(self, session: str) -> FleetSession:
        """Return one session."""
        self._refuse_unknown(session)
        self._follow_inbox()
        found = self._table.session(session) or self._describe(exact_summary(self._catalog, session))
        return msgspec.structs.replace(found, length=self.lengths([session]).get(session, 0))

    def lengths(self, sessions: Sequence[str]) -> dict[str, int]:
        """Return the seq of the last readable entry of each session; those that cannot be read are left out."""
        found: dict[str, int] = {}
        for session in sessions:
            try:
                records = self._records(session)
            except (HoldfastError, OSError) as error:  # one session must not hide the others
                if session not in self._unreadable:
                    debug_log_note(f"Session {session!r} cannot be read: {error}")
                self._unreadable.add(session)
                continue
            self._unreadable.discard(session)
            if records is not None:
                found[session] = records[-1].seq if records else 0
        return found

    def entries(self, session: str, after: int = 0, *, limit: int = 1000) -> tuple[StoredEntry, ...]:
        """Return the readable entries with a seq above `after`, in order."""
        records = self.reading(session).records if (driven := self._open(session)) is None else driven.records
        begin = next(at for at in range(min(after, len(records)), -1, -1) if at == 0 or records[at - 1].seq <= after)
        return tuple(records[begin : begin + limit])

    def reading(self, session: str) -> Reading:
        """Return every readable entry, and the damage that was found."""
        driven = self._open(session)
        if driven is not None:
            return Reading(records=tuple(driven.records), findings=driven.findings)
        exact = self._catalog.folder(session)
        stamp = journal_stamp(self._catalog.folder(session))
        with self._lock:
            cached = self._readings.get(session)
            if cached is not None and cached[0] == stamp:
                self._readings.move_to_end(session)
                return cached[1]
        reading = read_copy(exact)
        with self._lock:
            self._readings[session] = stamp, reading
            self._readings.move_to_end(session)
            while len(self._readings) > _READINGS:
                self._readings.popitem(last=False)
        return reading

    def ask(self, session: str, kind: InboxKind, body: InboxBody, *, key: str = "", sender: str = "") -> InboxRow:
        """Write a row, durably, and wake the session."""
        check_body(kind, body)
        self._refuse_unknown(session)
        row = self._inbox.add(session, kind, body, key=key, sender=sender)
        if row.done is None:
            with self._lock:
                driven = self._driven.get(session)
            if driven is not None:
                driven.wake()
            self._drive(session)
        return row

    def inbox(self, session: str, *, after: int = 0, limit: int = 200) -> tuple[InboxRow, ...]:
        """Return the rows of a session with an id above `after`, in order."""
        self._refuse_unknown(session)
        return self._inbox.rows(session, after=after, limit=limit)

    def status(self) -> FleetStatus:
        """Return this process as the only worker, and the sessions by state."""
        states: dict[str, int] = {}
        for each in self.sessions(limit=1_000_000):
            states[each.state] = states.get(each.state, 0) + 1
        oldest = min(self._inbox.waits().values(), default=None)
        with self._lock:
            driven_count = len(self._driven)
        worker = FleetWorker(id="local", slots=self._arguments.slots, holds=driven_count, since=self._since)
        age = None if oldest is None else max(0.0, time.time() - oldest)
        return FleetStatus(workers=(worker,), sessions=states, oldest=age)

    def close(self) -> None:
        """Stop the running turns, close every session and the inbox. Closing twice is fine."""
        self._closed.set()
        self._table.close()
        with self._lock:
            driven = list(self._driven.values())
        try:
            for each in driven:
                each.leave()
            until = time.monotonic() + _SESSIONS_CLOSE_WITHIN
            for each in driven:
                each.join(max(0.0, until - time.monotonic()))
        finally:
            self._inbox.close()

    # --- live -----------------------------------------------------------------------------------------------------

    def listen(self, session: str, listener: LiveListener) -> Callable[[], None]:
        """Call `listener` with all events of the session while it is driven here. Return a function that ends that."""
        with self._lock:
            self._listeners.setdefault(session, []).append(listener)

        def end() -> None:
            with self._lock:
                left = [each for each in self._listeners.get(session, []) if each is not listener]
                if left:
                    self._listeners[session] = left
                else:
                    self._listeners.pop(session, None)

        return end

    def mode(self, session: str) -> str:
        """Return the approval mode of a session that is driven here, "" otherwise."""
        driven = self._open(session)
        driver = None if driven is None else driven.driver
        return "" if driver is None else driver.mode

    def _publish(self, session: str, event: StoredEntry | Event) -> None:
        with self._lock:
            listeners = tuple(self._listeners.get(session, ()))
        for each in listeners:
            each(event)

    # --- driving --------------------------------------------------------------------------------------------------

    def _drive(self, session: str) -> None:
        """Open the session if it is not open. If all slots are in use, it waits for one.

        Rule: this never wakes an open session. A session that is woken stays open for `linger` seconds more.
        """
        with self._lock:
            if self._closed.is_set() or session in self._driven:
                return
            if len(self._driven) >= self._arguments.slots:
                self._want_slot(session)
                return
            self._without_slot.discard(session)
            started = self._driven[session] = DrivenSession(
                session,
                self._inbox,
                open_=lambda: open_served_session(self._arguments, self._environ, session),
                hooks=self._hooks,
                linger=self._arguments.linger,
                yolo=self._arguments.allow_yolo,
            )
            started.start()

    def _want_slot(self, session: str) -> None:
        """Have an idle session closed for this one. One that another process has open waits for a free slot."""
        if session in self._elsewhere or session in self._without_slot:
            return
        self._without_slot.add(session)
        for each in self._driven.values():
            each.wake()

    def _give_slot(self) -> bool:
        """Return whether an idle session must be closed for one that has no slot: one is closed for each."""
        with self._lock:
            if not self._without_slot:
                return False
            self._without_slot.pop()
            return True

    def _ended(self, driven: DrivenSession) -> None:
        with self._lock:
            self._driven.pop(driven.id, None)
            self._touched.add(driven.id)
            if driven.busy:
                self._elsewhere[driven.id] = driven.busy
            else:
                self._elsewhere.pop(driven.id, None)
        if not self._closed.is_set():
            try:
                self._drive_waiting(retry=False)
            except HoldfastError as error:  # the next look tries again
                debug_log_note(str(error))

    def _drive_waiting(self, *, retry: bool) -> None:
        """Drive the sessions with waiting rows, the oldest row first; to `retry`, also those that could not be opened.

        These come last, because they must not take a slot from the others again and again.
        """
        waits = self._inbox.waits()
        with self._lock:
            elsewhere = set(self._elsewhere)
        oldest_first = sorted(waits, key=lambda each: waits[each])
        left_open = self._inbox.driven() if retry else ()
        for session in (*oldest_first, *left_open):
            if session not in elsewhere:
                self._drive(session)
        for session in oldest_first if retry else ():
            if session in elsewhere:
                self._drive(session)

    def _watch_rows(self) -> None:
        """Try again to drive sessions with waiting rows, e.g. after another process has closed one."""
        last_error = ""
        while not self._closed.wait(_LOOK_AGAIN):
            try:
                self._drive_waiting(retry=True)
                last_error = ""
            except HoldfastError as error:  # the disk may have space at the next look
                if last_error != (last_error := str(error)):
                    debug_log_note(last_error)

    # --- descriptions ---------------------------------------------------------------------------------------------

    def _open(self, session: str) -> DrivenSession | None:
        """Return the session if its journal is open in this process. Wait if it is about to be opened."""
        with self._lock:
            driven = self._driven.get(session)
        if driven is None:
            return None
        driven.opened.wait()
        return driven if driven.driver is not None else None

    def _records(self, session: str) -> Sequence[StoredEntry] | None:
        driven = self._open(session)
        if driven is not None:
            return driven.records
        return self.reading(session).records if journal_stamp(self._catalog.folder(session)) else None

    def _refuse_unknown(self, session: str) -> None:
        """Raise `SessionUnknown` unless there is a session with exactly this ID. None is read."""
        if not (is_session_id(session) and self._catalog.has_session(session)):
            exact_summary(self._catalog, session)

    def _follow_inbox(self) -> None:
        waits = self._inbox.waits()
        with self._lock:
            self._touched.update(self._waited, waits)
            self._waited = waits

    def _live_summary(self, session: str) -> SessionSummary | None:
        """Return the summary of a session that is open here, from its entries in memory."""
        with self._lock:
            driven = self._driven.get(session)
        if driven is None or driven.driver is None:
            return None
        return self._catalog.live_summary(session, tuple(driven.records))

    def _describe(self, summary: SessionSummary) -> FleetSession:
        session, waits = summary.id, self._waited
        with self._lock:
            driven = self._driven.get(session)
        driver = None if driven is None else driven.driver
        open_elsewhere = holder = ""
        questions: tuple[str, ...] = ()
        if driver is not None:
            questions = driver.open_questions
            state: FleetState = "asking" if questions else "running" if driver.running else "idle"
            if state == "idle" and session in waits:
                state = "waiting"
        else:
            state = "waiting" if session in waits else "idle"
            if driven is None:
                open_elsewhere, holder = self._holder(session)
                state = "held" if open_elsewhere else state
        return FleetSession(
            id=session,
            state=state,
            title=summary.title or summary.damage,
            model=summary.model,
            cwd=summary.cwd,
            place={"cwd": summary.cwd},
            holder=holder or ("this server" if driver is not None else ""),
            asking=questions,
            created=summary.created,
            changed=summary.modified,
            held=open_elsewhere,
            cost=self._cost(session),
        )

    def _holder(self, session: str) -> tuple[str, str]:
        try:
            raise_if_busy(self._catalog.folder(session))
        except SessionBusy as busy:
            with self._lock:
                opened_here = session in self._driven  # in the moment between the two looks
            if not opened_here:
                return (
                    f"Open in another program ({busy.holder or 'unknown'}). Close it there to continue here.",
                    busy.holder,
                )
        except OSError:
            return "", ""
        return "", ""

    def _cost(self, session: str) -> str:
        """Return the cost of a session, "" unless its journal is in memory."""
        with self._lock:
            driven = self._driven.get(session)
            cached = self._readings.get(session)
        records: Sequence[StoredEntry] | None = (
            driven.records if driven is not None else cached[1].records if cached else None
        )
        if records is None:
            return ""
        length = len(records)
        before = self._costs.get(session)
        if before is not None and before[0] == length:
            return before[1]
        total = Spending(each.entry for each in tuple(records)).total().cost
        self._costs[session] = length, "" if total is None else str(total)
        return self._costs[session][1]
