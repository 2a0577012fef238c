"""A worker's own clock: it counts from before it asked, and has given up before another may begin."""

from __future__ import annotations

import threading
import time
from typing import LiteralString

from holdfast.errors import StorageFailed
from holdfast.fleet.postgres.database import Database
from holdfast.fleet.worker.heartbeat import Heartbeat
from polling import eventually

TTL = 6.0
SLOW = 3.0
"""Seconds until the record answers a beat: more than a quarter of the time to live, less than three quarters."""


class SlowRecord(Database):
    """A record that answers the first beat late and no other. `sent` is when it got the first."""

    def __init__(self, url: str, *, patience: float, name: str) -> None:
        super().__init__(url, patience=patience, name=name)
        self.sent: list[float] = []
        self.over = threading.Event()

    def once(self, sql: LiteralString, *values: object) -> list[tuple[object, ...]]:
        """Answer one statement of a heartbeat."""
        del values
        if "holdfast.be_born" in sql:
            return [(1, 1, True)]
        if "pg_backend_pid" in sql:
            return [(1,)]
        if "holdfast.beat" in sql:
            self.sent.append(time.monotonic())
            if len(self.sent) > 1 or self.over.wait(SLOW):
                self.over.wait()
                raise StorageFailed("It was closed.")
            return [(True,)]
        return []


def test_a_worker_has_given_up_before_its_time_by_the_record_has_passed() -> None:
    """The record may have renewed it when the beat was sent, and not when the answer came."""
    records: list[SlowRecord] = []
    lost: list[float] = []

    def connect(url: str, *, patience: float, name: str) -> Database:
        records.append(SlowRecord(url, patience=patience, name=name))
        return records[-1]

    heartbeat = Heartbeat(
        "postgresql://memory",
        "w",
        ttl=TTL,
        description={},
        on_lost=lambda: lost.append(time.monotonic()),
        on_dead_peer=lambda _: None,
        connect=connect,
    )
    try:
        eventually(lambda: lost)
        assert lost[0] - records[0].sent[0] < TTL, "by the record's clock another worker may have begun"
        assert lost[0] - records[0].sent[0] > SLOW, "the answer counted"
        assert heartbeat.is_lost
    finally:
        for record in records:
            record.over.set()
        heartbeat.end()
