"""The host of a session that the local server drives, with the options of a run in its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from holdfast.agent.events import Event, Fact
from holdfast.fleet.held_session import HeldSession
from holdfast.fleet.places.place import SessionPlace
from holdfast.host.events import HostEvent, Opened
from holdfast.host.hosted_session import RULES_OF
from holdfast.host.opening import open_host
from holdfast.host.session_host import SessionHost
from holdfast.questions import QuestionRules
from holdfast.session.journal.store import StoredEntry
from holdfast.ui.service.local.local_held_session import LocalHeldSession
from holdfast.ui.service.local.served_session import ServedSession


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
