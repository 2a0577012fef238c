"""A fault at every file operation: killed there, or the disk fails; what was acknowledged is kept, and it goes on.

Two rules. A point is one operation of one scenario. Every kind of store that is known to be bad must be found so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from report import record
from shimmed import Fault, broken, full, kill, unsynced
from store_plans import REAL_ONES
from store_trials import Room, chosen, red

_WRITES, _SYNCS, _ALL = "w", "s", "wsctruml"

_INJECTORS: dict[str, tuple[Callable[[int], Fault], str, int]] = {
    "killed before": (lambda at: kill("before", at), _ALL, 9),
    "killed after": (lambda at: kill("after", at), _ALL, 9),
    "killed half-way": (lambda at: kill("torn", at), _WRITES, 8),
    "short write": (lambda at: Fault("short", at), _WRITES, 3),
    "I/O error": (broken, _ALL, 8),
    "disk full once": (lambda at: full("once", at), _ALL, 4),
    "disk full from then on": (lambda at: full("from", at), _ALL, 6),
    "sync fails once": (lambda at: unsynced("once", at), _SYNCS, 4),
    "sync fails from then on": (lambda at: unsynced("from", at), _SYNCS, 4),
}
"""What each does at an operation, at which kinds of operations, and at how many of them in a short run."""


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    with Room.open() as room:
        yield room


def places(room: Room, scenario: str, injector: str) -> list[int]:
    """Return the operations of the scenario, by number, at which the injector can do something."""
    _, kinds, _ = _INJECTORS[injector]
    log = [operation for operation in room.logged(scenario) if operation.kind != "n"]
    return [at for at, operation in enumerate(log, start=1) if operation.kind in kinds]


def tried(room: Room, scenario: str, injector: str) -> list[str]:
    """Return the points of the scenario at which something was wrong."""
    fault, _, most = _INJECTORS[injector]
    points = places(room, scenario, injector)
    few = chosen(points, most)
    found = red((f"{scenario}, {injector} {at}", room.struck(scenario, fault(at))) for at in few)
    record(scenario, injector, points=len(few), violations=found, of=len(points))
    return found


@pytest.mark.parametrize("injector", _INJECTORS)
@pytest.mark.parametrize("scenario", REAL_ONES)
def test_nothing_acknowledged_is_lost_and_the_next_append_works(room: Room, scenario: str, injector: str) -> None:
    assert tried(room, scenario, injector) == []


@pytest.mark.parametrize(
    ("store", "injector", "least"),
    [
        ("naive JSON lines", "killed half-way", 1.0),  # the next append is glued to the torn line
        ("naive JSON file", "killed half-way", 1.0),
        ("naive JSON file", "killed after", 0.25),  # as it is emptied, to be written again
        ("naive JSON file", "disk full from then on", 0.5),
        ("naive JSON file", "I/O error", 0.4),  # what was reported as failed is there, and then there twice
        ("DELETE, FULL", "disk full from then on", 0.1),  # it can no longer be read
    ],
)
def test_a_store_that_is_known_to_be_bad_is_found(room: Room, store: str, injector: str, least: float) -> None:
    fault, _, _ = _INJECTORS[injector]
    points = places(room, store, injector)
    found = red((f"{injector} {at}", room.struck(store, fault(at))) for at in points)
    record(store, injector, points=len(points), violations=found, known_bad=True)
    assert len(found) >= least * len(points)
