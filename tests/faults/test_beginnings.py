"""A session created, imported, copied or moved under a fault at every file operation: it is whole, or never begun.

Two rules. A point is one operation. What is judged is what a user sees: the list, the verification, the doctor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from beginnings import BEGINNINGS, judge, play, prepare
from report import record
from shimmed import Fault, Forks, broken, compiled, full, kill, operations
from store_trials import chosen, red, scratch

from skips import require

_INJECTORS: dict[str, tuple[Callable[[int], Fault], str, int]] = {
    "killed before": (lambda at: kill("before", at), "wsctruml", 12),
    "killed after": (lambda at: kill("after", at), "wsctruml", 12),
    "killed half-way": (lambda at: kill("torn", at), "w", 6),
    "I/O error": (broken, "wsctruml", 8),
    "disk full from then on": (lambda at: full("from", at), "wsctruml", 6),
}
"""What each does at an operation, at which kinds of operations, and at how many of them in a short run."""


@dataclass(frozen=True, slots=True)
class Place:
    base: Path
    forks: Forks

    @property
    def root(self) -> Path:
        return self.base / "root"

    def prepared(self, name: str) -> Path:
        folder = self.base / f"prepared-{BEGINNINGS.index(name)}"
        if not folder.exists():
            folder.mkdir()
            prepare(name, folder)
        return folder

    def struck(self, name: str, fault: Fault) -> list[str]:
        play(self.prepared(name), self.root)
        ended = self.forks.run(name, self.root, fault)
        killed = fault.how in ("before", "after", "torn")
        wrong = [] if ended.status == (-9 if killed else 0) else [f"it ended with {ended.status}"]
        return wrong + judge(name, self.root, ended.lines)

    def points(self, name: str, kinds: str) -> list[int]:
        play(self.prepared(name), self.root)
        assert self.forks.run(name, self.root, log=self.base / "log").status == 0
        log = [each for each in operations(self.base / "log") if each.kind != "n"]
        return [at for at, operation in enumerate(log, start=1) if operation.kind in kinds]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    require("compiler")
    with scratch() as base, Forks(compiled(base)) as forks:
        yield Place(base, forks)


@pytest.mark.parametrize("injector", _INJECTORS)
@pytest.mark.parametrize("name", BEGINNINGS)
def test_a_session_is_whole_or_was_never_begun(place: Place, name: str, injector: str) -> None:
    fault, kinds, most = _INJECTORS[injector]
    points = place.points(name, kinds)
    few = chosen(points, most)
    found = red((f"{name}, {injector} {at}", place.struck(name, fault(at))) for at in few)
    record(name, injector, points=len(few), violations=found, of=len(points))
    assert found == []
