"""The record of a fleet, as services use it: sessions by state, their entries, and the inbox of each.

`PostgresFleet` implements it over PostgreSQL. The local sessions of one user may implement it too, so that a page and
an API need not know where the sessions are. Every method blocks, and may be called from any thread.

How a session is steered. Only the holder of a session's lease writes its journal. Every other process writes a row
into its inbox: a prompt, a message for the running turn, an answer, a stop. The row is durable when `ask` returns. The
holder takes the rows in order, and writes the entry for a row in the transaction that marks the row as done. So no row
is lost or carried out twice, whichever process dies in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Literal, Protocol

import msgspec

from holdfast.session.journal import entries as e
from holdfast.session.journal.parts import Usage
from holdfast.session.journal.store import Reading, StoredEntry

InboxKind = Literal["prompt", "steer", "later", "stop", "answer", "model", "rename", "recall", "mode"]
"""The kinds of inbox rows; `InboxRow` describes the body of each."""

FleetState = Literal["running", "waiting", "asking", "idle", "held"]
"""`running`: a worker drives it. `waiting`: something is in its inbox and no worker has it. `asking`: a question is
open. `held`: it crashed too often and waits for a user. `idle`: none of these."""

FLEET_STATES: tuple[FleetState, ...] = ("running", "waiting", "asking", "idle", "held")

InboxBody = Mapping[str, object]
"""JSON values by name."""


class InboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of an inbox.

    The `body` of each kind:

    - `prompt`, `steer`, `later`: `{"text": …}`. A steer or a later without a running turn becomes a prompt.
    - `stop`: `{}`. It refuses the messages that waited before it. With no turn running it is done at once.
    - `answer`: `{"question": …, "choice": …}`, the id of the question and the name of a choice that it offers, and
      optionally `"words"` and `"marked"` (names of options).
    - `model`: `{"model": "PROVIDER:MODEL"}`. `mode`: `{"mode": …}`. `rename`: `{"title": …}`. `recall`: `{"id": …}`,
      the id of a queued message or of a waiting row.

    `seq` is the position of the entry it became, None if there is none. `done` is the time it was done, None while it
    waits. `refused` says why it was refused, "" otherwise. `new` is false if `key` was in the inbox before.
    """

    id: int
    session: str
    kind: InboxKind
    body: dict[str, object]
    key: str = ""
    sender: str = ""
    at: float = 0.0
    seq: int | None = None
    done: float | None = None
    refused: str = ""
    new: bool = False


class FleetSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session in a list: `length` is its number of entries, `changed` when the last was written.

    `asking` has the ids of the calls that wait for an answer, `holder` the worker that drives it, "" if none does.
    `cost` is in US dollars, as text, "" if unknown. `held` says why the session waits for a user.
    """

    id: str
    state: FleetState
    length: int = 0
    title: str = ""
    model: str = ""
    cwd: str = ""
    place: dict[str, object] = msgspec.field(default_factory=dict[str, object])
    holder: str = ""
    asking: tuple[str, ...] = ()
    created: float = 0.0
    changed: float = 0.0
    tries: int = 0
    held: str = ""
    cost: str = ""


class FleetWorker(msgspec.Struct, frozen=True, kw_only=True):
    """One worker that is alive: the `host` it runs on, its `slots`, and how many sessions it holds."""

    id: str
    host: str = ""
    pid: int = 0
    slots: int = 0
    holds: int = 0
    since: float = 0.0


class FleetStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the fleet: workers alive, sessions by state, and how many seconds the oldest row has waited."""

    workers: tuple[FleetWorker, ...] = ()
    sessions: dict[str, int] = msgspec.field(default_factory=dict[str, int])
    oldest: float | None = None
    notes: tuple[str, ...] = ()


class FleetRecord(Protocol):
    """The sessions of a fleet.

    Raises `SessionUnknown` for an unknown id, `StorageFailed` if the record cannot be reached.
    """

    def create(
        self,
        *,
        model: str,
        place: InboxBody,
        sender: str,
        title: str = "",
        id: str = "",  # noqa: A002 - the name that callers expect
    ) -> str:
        """Return the id of a new session. The first worker that takes it writes its first entries.

        A caller may choose the `id`; if there is such a session, nothing is changed.
        """
        ...

    def sessions(
        self, state: FleetState | None = None, *, limit: int = 200, after: str = ""
    ) -> tuple[FleetSession, ...]:
        """Return sessions, newest first; `after` is the last id of the page before."""
        ...

    def session(self, session: str) -> FleetSession:
        """Return one session."""
        ...

    def lengths(self, sessions: Sequence[str]) -> dict[str, int]:
        """Return the number of entries of each session; unknown ids are left out."""
        ...

    def entries(self, session: str, after: int = 0, *, limit: int = 1000) -> tuple[StoredEntry, ...]:
        """Return the readable entries with a seq above `after`, in order, at most `limit` of them."""
        ...

    def reading(self, session: str) -> Reading:
        """Return every readable entry, and the damage that was found."""
        ...

    def ask(self, session: str, kind: InboxKind, body: InboxBody, *, key: str = "", sender: str = "") -> InboxRow:
        """Write a row into the inbox, durably, wake the session, and return the row.

        If the inbox already has the `key`, its row is returned, with `new` false: trying again is safe.
        Raises `UsageError` for a body that does not fit the kind.
        """
        ...

    def inbox(self, session: str, *, after: int = 0, limit: int = 200) -> tuple[InboxRow, ...]:
        """Return the rows with an id above `after`, in order, including those that are done."""
        ...

    def status(self) -> FleetStatus:
        """Return the state of the fleet."""
        ...

    def close(self) -> None:
        """Close the connections. Closing twice is fine."""
        ...


# --- A session's summary for lists, kept up to date by its writer: title, model, open questions, cost ---

_TITLE_LENGTH = 80


class FleetSummary(msgspec.Struct, frozen=True):
    """The summary of one session, stored as JSON in the column `face`.

    `asking` has the ids of calls that wait for an answer, `open` is whether a turn is open.
    """

    title: str = ""
    model: str = ""
    cwd: str = ""
    open: bool = False
    asking: tuple[str, ...] = ()
    cost: str = ""
    named: bool = False

    def after(self, entries: Iterable[e.Entry]) -> FleetSummary:
        """Return the summary after `entries` are written."""
        summary = self
        for entry in entries:
            summary = _after(summary, entry)
        return summary


def _after(summary: FleetSummary, entry: e.Entry) -> FleetSummary:  # noqa: PLR0911 - a line for each kind
    change = msgspec.structs.replace
    match entry:
        case e.SessionOpened(cwd=cwd, model=model):
            return change(summary, cwd=cwd, model=model)
        case e.Moved(to=folder):
            return change(summary, cwd=folder)
        case e.ModelChanged(model=model):
            return change(summary, model=model)
        case e.Titled(title=title, usage=usage):
            return change(summary, title=title, named=bool(title), cost=_sum(summary.cost, usage.cost or "0"))
        case e.PromptAccepted(text=text):
            title = summary.title if summary.named or summary.title else text.strip().partition("\n")[0][:_TITLE_LENGTH]
            return change(summary, open=True, title=title)
        case e.ApprovalAsked(call=call):
            return change(summary, asking=tuple(dict.fromkeys((*summary.asking, call))))
        case e.ApprovalAnswered(call=call) | e.CallEnded(call=call) if call in summary.asking:
            return change(summary, asking=tuple(each for each in summary.asking if each != call))
        case e.ResponseEnded(usage=usage) | e.Compacted(usage=usage) if usage.cost:
            return change(summary, cost=_sum(summary.cost, usage.cost))
        case e.RequestFailed(usage=Usage(cost=str() as cost)):
            return change(summary, cost=_sum(summary.cost, cost))
        case e.TurnEnded():
            return change(summary, open=False, asking=())
        case _:
            return summary


def _sum(cost: str, more: str) -> str:
    try:
        return str(Decimal(cost or "0") + Decimal(more))
    except InvalidOperation:  # the price is not a number: keep the known cost
        return cost


# --- Recognizes the journal entry that an inbox row became ---


def matches_entry(row: InboxRow, entry: e.Entry, *, name: str) -> bool:  # noqa: PLR0911 - a line for each kind
    """Return whether `entry` is the entry for the row. An entry of a message has the row's `name` as its id."""
    match row.kind, entry:
        case "prompt" | "steer" | "later", e.Queued(id=message) | e.PromptAccepted(queued=message):
            return message == name
        case "answer", e.ApprovalAnswered(call=call):
            return call == row.body.get("question")
        case "stop", e.TurnEnded():
            return True
        case "model", e.ModelChanged(model=model):
            return model == row.body.get("model")
        case "mode", e.ModeChanged(mode=mode):
            return mode == row.body.get("mode")
        case "rename", e.Titled():
            return entry == e.title_entry(str(row.body.get("title")))
        case "recall", e.Recalled(queued=message):
            return message == row.body.get("id")
        case _:
            return False
