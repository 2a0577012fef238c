"""Power lost anywhere: whichever unsynced writes and names reached the disk, what was acknowledged is there.

Two rules. Images come from what a real run did, with the real SQLite. The same store with a weaker setting must lose.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import power
import pytest
from report import FULL, record
from shimmed import unsynced
from store_plans import REAL_ONES, Told
from store_trials import Room, chosen, red

pytestmark = pytest.mark.timeout(1800 if FULL else 60)


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    with Room.open() as room:
        yield room


def tried(room: Room, scenario: str, few: Sequence[tuple[power.Image, Told]]) -> list[str]:
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
