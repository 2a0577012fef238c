"""Power lost anywhere: whichever unsynced writes and names reached the disk, what was acknowledged is there.

Two rules. Images come from what a real run did, with the real SQLite. The same store with a weaker setting must lose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import power
import pytest
from report import record
from shimmed import Operation, unsynced
from store_plans import REAL_ONES, Account
from store_trials import Room, chosen, red


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    with Room.open() as room:
        yield room


def tried(room: Room, scenario: str, few: Sequence[tuple[power.Image, Account]]) -> list[str]:
    """Return the images of a power loss that are wrong."""
    return red((f"image {number}", room.judged(scenario, *image)) for number, image in enumerate(few))


@pytest.mark.parametrize("scenario", REAL_ONES)
def test_what_was_acknowledged_survives_the_loss_of_power(room: Room, scenario: str) -> None:
    images = list(room.images(scenario, room.logged(scenario)))
    few = chosen(images, 30)
    found = tried(room, scenario, few)
    record(scenario, "power lost", points=len(few), violations=found, of=len(images))
    assert found == []


@pytest.mark.parametrize("scenario", REAL_ONES)
def test_what_was_acknowledged_after_a_sync_failed_survives_too(room: Room, scenario: str) -> None:
    """A system forgets the writes that it could not sync, and calls the next sync of that file a success."""
    log = [operation for operation in room.logged(scenario) if operation.kind != "n"]
    syncs = [at for at, operation in enumerate(log, start=1) if operation.kind == "s"]
    found: list[str] = []
    points = of = 0
    for at in chosen(syncs, 2):
        images = list(room.images(scenario, room.logged(scenario, unsynced("once", at))))
        few = chosen(images, 6, full=40)
        found += [f"sync {at} failed, {each}" for each in tried(room, scenario, few)]
        points, of = points + len(few), of + len(images)
    record(scenario, "sync fails once, then power lost", points=points, violations=found, of=of)
    assert found == []


def traced(log: Iterable[Operation], folder: str) -> list[tuple[str, str]]:
    """Return the operations as a kind and a name in the folder, which itself is "."; renamed: the new name."""
    named: list[tuple[str, str]] = []
    for operation in log:
        path = operation.other if operation.kind == "r" else operation.path
        if operation.kind != "n" and (path == folder or path.startswith(f"{folder}/")):
            named.append((operation.kind, path.removeprefix(folder).lstrip("/") or "."))
    return named


def in_order(trace: list[tuple[str, str]], *steps: tuple[str, str]) -> bool:
    """Return whether each step comes behind the one before: of the first, its last; of the others, the next."""
    at = max((place for place, step in enumerate(trace) if step == steps[0]), default=len(trace))
    for step in steps[1:]:
        at = next((place for place in range(at + 1, len(trace)) if trace[place] == step), len(trace))
    return at < len(trace)


def test_each_step_of_a_salvage_is_durable_before_the_next(room: Room) -> None:
    """A later step may reach the disk first: the kept copy, the replacement, the end of the old log, its place."""
    name = "after damage"
    log = room.logged(name)
    folder = next(operation.other.rpartition("/")[0] for operation in log if operation.other.endswith("session.db.new"))
    trace = traced(log, folder)
    decided, removed, placed = ("r", "session.db.new"), ("u", "session.db-wal"), ("r", "session.db")
    found = [
        f"{first} is not durable before {then}"
        for first, durable, then in (
            (("w", "session.db.damaged-1"), [("s", "session.db.damaged-1"), ("s", ".")], decided),
            (("w", "session.db.damaged-1-wal"), [("s", "session.db.damaged-1-wal"), ("s", ".")], decided),
            (decided, [("s", ".")], removed),
            (removed, [("s", ".")], placed),
            (placed, [("s", ".")], ("c", "session.db-wal")),
        )
        if not in_order(trace[: trace.index(then) + 1 if then[0] != "c" else len(trace)], first, *durable, then)
    ]
    record(name, "order of the syncs", points=5, violations=found)
    assert found == []


@pytest.mark.parametrize(
    ("store", "least"),
    [
        ("WAL, NORMAL", 0.5),
        ("DELETE, FULL", 0.02),  # the journal's deletion is not synced: it comes back, and takes the entry with it
        ("naive JSON lines", 0.5),
        ("naive JSON file", 0.5),
        ("JSON file, renamed without a sync", 0.4),
    ],
)
def test_a_store_that_is_known_to_be_bad_is_found(room: Room, store: str, least: float) -> None:
    images = list(room.images(store, room.logged(store)))
    few = chosen(images, 60)
    found = tried(room, store, few)
    record(store, "power lost", points=len(few), violations=found, of=len(images), known_bad=True)
    assert len(found) >= least * len(few)
