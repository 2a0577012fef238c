"""The record of a fleet in memory: the statements that the holder of a session sends, answered without a server.

So `PostgresHeldSession`, `PostgresStore` and `SessionDriver` run as they are, in tests that take milliseconds. The
statements do what `migrations/0002_functions.sql` says; one that is not known here fails the test.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import LiteralString, cast

import msgspec

from holdfast.fleet.postgres.claims import PostgresHeldSession
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.record import InboxKind
from holdfast.session.journal import entries as e
from holdfast.session.journal.entries import decode

Row = tuple[object, ...]
LEASE = "00000000-0000-0000-0000-00000000000"


class MemoryRecord(Database):
    """One session of a record. A `fault`, if set, is raised by the next statement that begins with `fault_at`.

    With `fault_once` false it is raised by every such statement.
    """

    def __init__(self, session: str = "s-1", *, place: Mapping[str, object] | None = None) -> None:
        super().__init__("postgresql://memory", patience=0.1)
        self.session = session
        self.place: dict[str, object] = dict(place or {"kind": "folder", "cwd": "/"})
        self.entries: list[tuple[int, float, str, bytes, bytes]] = []
        self.inbox: list[dict[str, object]] = []
        self.lease = ""
        self.held = ""
        self.is_waiting = False
        self.tries = 0
        self.released: list[str] = []
        self.fault: Exception | None = None
        self.fault_at = ""
        self.fault_once = True
        self._leases = 0
        self._lock = threading.RLock()

    # --- what a test does and sees -------------------------------------------------------------------------------

    def ask(self, kind: InboxKind, **body: object) -> int:
        """Write a row and return its id."""
        row: dict[str, object] = {
            "id": len(self.inbox) + 1,
            "kind": kind,
            "body": body,
            "seq": None,
            "done": None,
            "refused": "",
        }
        self.inbox.append(row)
        return len(self.inbox)

    def take(self) -> PostgresHeldSession:
        """Return the session under a new lease."""
        self._leases += 1
        self.lease = f"{LEASE}{self._leases}"
        link = self.entries[-1][-1] if self.entries else b""
        return PostgresHeldSession(
            self,
            self.session,
            lease=self.lease,
            length=len(self.entries),
            link=link,
            tries=self.tries,
            place=dict(self.place),
            previous_holder="",
            crashed=False,
        )

    @property
    def journal(self) -> list[e.Entry]:
        """Return the entries."""
        return [decode(body) for _, _, _, body, _ in self.entries]

    def seq_of(self, row: int) -> object:
        """Return the seq of the entry that a row became, "open" if it is not done, why it was refused else."""
        found = self.inbox[row - 1]
        return found["seq"] or found["refused"] if found["done"] else "open"

    # --- the statements --------------------------------------------------------------------------------------------

    def once(self, sql: LiteralString, *values: object) -> list[Row]:  # noqa: PLR0911 - a line for each statement
        """Answer one statement."""
        with self._lock:
            if self.fault is not None and sql.startswith(self.fault_at):
                fault = self.fault
                self.fault = None if self.fault_once else fault
                raise fault
            name = sql.partition("(")[0]
            match name:
                case "select holdfast.append":
                    return [(self._append(*values),)]
                case "select holdfast.is_written":
                    return [(any(row[0] == values[1] and row[-1] == values[2] for row in self.entries),)]
                case "select holdfast.close_rows":
                    return [(self._close_rows(*values),)]
                case "select holdfast.put_place":
                    return [(self._put_place(*values),)]
                case "select holdfast.give":
                    return [(self._give(*values),)]
                case _ if sql.startswith("select length, sum from holdfast.session"):
                    return [(len(self.entries), self.entries[-1][-1] if self.entries else b"")]
                case _ if sql.startswith("select seq, at, kind, body, sum from holdfast.entry"):
                    return list(self.entries[: cast("int", values[1])])
                case _ if "from holdfast.inbox" in sql:
                    return [self._inbox_row(row) for row in self.inbox if not (values[2] and row["done"])]
                case _:
                    raise AssertionError(f"unknown here: {sql}")

    def _append(self, *values: object) -> str:
        session, lease, expected, link, ats, kinds, bodies, sums, taken, places, face, finished, _ = values
        del session, face
        last = self.entries[-1][-1] if self.entries else b""
        if lease != self.lease:
            return "lost"
        if expected != len(self.entries) or link != last:
            return "conflict"
        columns = (cast("list[object]", each) for each in (ats, kinds, bodies, sums))
        for at, kind, body, sum_ in zip(*columns, strict=True):
            self.entries.append(
                cast("tuple[int, float, str, bytes, bytes]", (len(self.entries) + 1, at, kind, body, sum_))
            )
        for done, place in zip(cast("list[int]", taken), cast("list[int]", places), strict=True):
            if not self.inbox[done - 1]["done"]:
                self.inbox[done - 1].update(seq=cast("int", expected) + place, done=time.time())
        if finished:
            self.tries = 0
        return "ok"

    def _close_rows(self, *values: object) -> bool:
        _, lease, rows, why = values
        if lease != self.lease:
            return False
        for row in cast("list[int]", rows):
            if not self.inbox[row - 1]["done"]:
                self.inbox[row - 1].update(done=time.time(), refused=why)
        return True

    def _put_place(self, *values: object) -> bool:
        _, lease, place = values
        if lease != self.lease:
            return False
        self.place = msgspec.json.decode(cast("str", place))
        return True

    def _give(self, *values: object) -> str:
        _, lease, place, parked, held, again = values
        if lease != self.lease:
            return "lost"
        waits = any(not row["done"] and not (parked and row["kind"] == "prompt") for row in self.inbox)
        if not held and not again and waits:
            return "more"
        self.lease, self.held, self.is_waiting = "", cast("str", held), bool(again)
        if place is not None:
            self.place = msgspec.json.decode(cast("str", place))
        self.released.append("held" if held else "again" if again else "given")
        return "given"

    def _inbox_row(self, row: dict[str, object]) -> Row:
        return (
            row["id"], self.session, row["kind"], row["body"], f"k{row['id']}", "t", 0.0, row["seq"], row["done"],
            row["refused"],
        )  # fmt: skip
