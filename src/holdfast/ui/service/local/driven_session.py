"""A local session on its own thread and event loop, from the first message that waits until nothing does."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.agent.stop_cause import StopCause
from holdfast.errors import HoldfastError, SessionBusy, StorageFailed
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.fleet.traces.turn_traces import TurnTraces
from holdfast.fleet.worker.session_driver import DriveRules, SessionDriver
from holdfast.host.events import HostEvent, Opened
from holdfast.host.hosted_session import RULES_OF
from holdfast.host.opening import open_host
from holdfast.host.session_host import SessionHost
from holdfast.questions import QuestionRules
from holdfast.session.journal.store import Finding, StoredEntry
from holdfast.ui.service.local.inbox_file import InboxFile
from holdfast.ui.service.local.local_held_session import LocalHeldSession
from holdfast.ui.service.local.served_session import ServedSession
from holdfast.ui.startup.debug_log_option import debug_log_note


class OwnFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of a local session: a `SessionPlace` that never moves."""

    cwd: Path
    identity: str = "local"
    wrap: tuple[str, ...] = ()

    def values(self) -> dict[str, object]:
        """Return the folder."""
        return {"cwd": str(self.cwd)}

    def save(self, turn: int) -> dict[str, object]:
        """Return the folder; there is nothing to save."""
        del turn
        return self.values()

    def close(self, *, remove: bool) -> None:
        """Do nothing: the folder is the user's."""


class ServedHost:
    """A `HostMaker` for one open session. `publish` gets durable entries and live events, and must not block."""

    def __init__(
        self,
        served: ServedSession,
        session: LocalHeldSession,
        *,
        publish: Callable[[StoredEntry | Event], None],
        yolo: bool,
    ) -> None:
        self._served = served
        self._session = session
        self._publish = publish
        self._yolo = yolo
        self._known = served.session.reading.records[-1].seq if served.session.reading.records else 0

    def place(self, session: str, values: Mapping[str, object]) -> SessionPlace:
        """Return the session's folder."""
        del session, values
        return OwnFolder(cwd=self._served.session.cwd)

    def __call__(self, held_session: HeldSession, place: SessionPlace) -> SessionHost:
        """Return the host."""
        del held_session, place
        served = self._served
        host = open_host(
            served.options,
            served.session,
            RULES_OF["server"],
            log=served.log,
            offered=QuestionRules(yolo=self._yolo),
            keeps_own=True,
        )
        host.listen(self._hear)
        return host

    def _hear(self, event: HostEvent) -> None:
        if isinstance(event, Opened):
            for fact in event.facts:
                self._record(fact)
        elif isinstance(event, Fact):
            self._record(event)
        elif isinstance(event, Event):
            self._publish(event)

    def _record(self, fact: Fact) -> None:
        """Publish an entry that is news, and mark the row that became it."""
        if fact.seq > self._known:
            self._known = fact.seq
            self._publish(StoredEntry(fact.seq, self._served.session.store.appended_at, fact.entry))
            self._session.recorded(fact.seq, fact.entry)


# --- driven session ---

_RULES = DriveRules(
    grace=0.0,
    drain_cause=StopCause("signal", "the server stopped"),
    park_after=None,
    continue_lost_turns=False,
)
"""A local session holds no lease that others wait for, and its user is near: nothing is parked or continued."""


class SessionHooks(msgspec.Struct, frozen=True):
    """What a session calls, on its own thread: with its events, at its end, and whether its slot is wanted."""

    publish: Callable[[str, StoredEntry | Event], None]
    ended: Callable[[DrivenSession], None]
    slot_wanted: Callable[[], bool]


class DrivenSession:
    """One session while this server drives it. `records` is its journal: it only grows, and any thread may read it."""

    def __init__(
        self,
        session: str,
        inbox: InboxFile,
        *,
        open_: Callable[[], ServedSession],
        hooks: SessionHooks,
        linger: float,
        yolo: bool,
    ) -> None:
        self.id = session
        self.records: list[StoredEntry] = []
        self.findings: tuple[Finding, ...] = ()
        self.busy = ""
        """Who holds the session, if another process does."""
        self.opened = threading.Event()
        self._inbox = inbox
        self._open = open_
        self._hooks = hooks
        self._linger = linger
        self._yolo = yolo
        self._leaving = False
        self.driver: SessionDriver | None = None
        self._held_session: LocalHeldSession | None = None
        self._traces = TurnTraces(session)
        self._thread = threading.Thread(target=self._serve, name=f"session {session}", daemon=True)

    def start(self) -> None:
        """Open the session and drive it; `ended` is called on its thread after it was closed again."""
        self._thread.start()

    def wake(self) -> None:
        """Look again: at the inbox, and whether another session waits for the slot. It stays open for longer."""
        if self._held_session is not None:
            self._held_session.wake()

    def leave(self) -> None:
        """End soon; what runs is stopped."""
        self._leaving = True
        if self.driver is not None:
            self.driver.drain()

    def join(self, within: float) -> bool:
        """Return whether the session was closed within so many seconds."""
        self._thread.join(within)
        return not self._thread.is_alive()

    def _serve(self) -> None:
        try:
            asyncio.run(self._work())
        except Exception as error:  # noqa: BLE001 - the top of a session's thread: a bug must not end the server
            debug_log_note(f"Session {self.id!r}: internal error.\n{''.join(traceback.format_exception(error))}")
            self._refuse(f"Internal error: {type(error).__name__}. See the server's log.")
        finally:
            self.driver = self._held_session = None
            self.opened.set()
            self._hooks.ended(self)

    async def _work(self) -> None:
        try:
            self._inbox.drive(self.id)
            served = self._open()
        except SessionBusy as error:
            self.busy = str(error)
            return
        except StorageFailed as error:
            debug_log_note(f"Session {self.id!r}: {error}")
            self.busy = str(error)
            return
        except HoldfastError as error:
            self._refuse(str(error))
            return
        self.records.extend(served.session.reading.records)
        for record in self.records:
            self._traces.replay(record)
        self.findings = served.session.reading.findings
        held_session = LocalHeldSession(served, self._inbox)
        maker = ServedHost(served, held_session, publish=self._take, yolo=self._yolo)
        driver = SessionDriver(
            held_session,
            make=maker,
            open_place=maker.place,
            rules=msgspec.structs.replace(_RULES, linger=self._linger),
            notify=debug_log_note,
            slot_wanted=self._hooks.slot_wanted,
        )
        self.driver, self._held_session = driver, held_session
        self.opened.set()
        if self._leaving:
            driver.drain()
        try:
            held_session.reconcile()
            await driver.run()
        except StorageFailed as error:  # a full disk: what waits stays there, and is tried again
            debug_log_note(f"Session {self.id!r}: {error}")
            self.busy = str(error)
        except HoldfastError as error:
            self._refuse(str(error))
        finally:
            held_session.close()

    def _take(self, event: StoredEntry | Event) -> None:
        if isinstance(event, StoredEntry):
            self.records.append(event)
            self._traces.take(event)
        self._hooks.publish(self.id, event)

    def _refuse(self, why: str) -> None:
        """Refuse what waits: the session cannot be opened, and trying again would fail again."""
        for each in self._inbox.waiting(self.id):
            self._inbox.done(each.row.id, refused=why)
        self._inbox.drop(self.id)
