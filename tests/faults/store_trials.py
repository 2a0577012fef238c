"""The place where stores are tried: a folder in memory if there is one, the fork server, and what each trial found."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import power
from shimmed import Ended, Fault, Forks, Operation, compiled, operations
from store_plans import HOME, REAL_ONES, SCENARIOS, Account, copies, judge, unclear

from skips import require
from tiers import SEED, TIER

T = TypeVar("T")


@contextmanager
def scratch() -> Generator[Path]:
    """Yield a folder in memory, where syncing costs nothing, if there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="holdfast-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@dataclass(slots=True)
class Room:
    """Where scenarios are played, one at a time, each in an empty folder that always has the same name."""

    _base: Path
    _forks: Forks
    _prepared: dict[str, Path] = field(default_factory=dict[str, Path])

    @classmethod
    @contextmanager
    def open(cls) -> Generator[Room]:
        """Yield a room; skip the test if programs cannot be struck here."""
        require("compiler")
        with scratch() as base, Forks(compiled(base)) as forks:
            yield cls(base, forks)

    def struck(self, name: str, fault: Fault) -> list[str]:
        """Return what is wrong once the scenario was struck by the fault."""
        ended = self._played(name, fault)
        killed = fault.how in ("before", "after", "torn")
        wrong = [] if ended.status == (-9 if killed else 0) else [f"it ended with {ended.status}"]
        if name in REAL_ONES:
            wrong += unclear(ended.lines)
        account, root = Account(SCENARIOS[name].acknowledged), self._root
        for line in ended.lines:
            if copy := account.hear(line):
                then = Account(list(account.acknowledged), opened=True)
                wrong += [f"at {copy}: {each}" for each in judge(SCENARIOS[name], copies(root) / copy, then)]
        wrong += account.wrong
        return wrong + judge(SCENARIOS[name], root / HOME, account)

    def logged(self, name: str, fault: Fault | None = None) -> list[Operation]:
        """Return the operations of the scenario, and what it said between them."""
        log = self._base / "log"
        ended = self._played(name, fault or Fault(), log)
        assert ended.status == 0, ended.lines
        return list(operations(log))

    def images(self, name: str, log: list[Operation]) -> Iterator[tuple[power.Image, Account]]:
        """Yield each image that power loss may leave once, with what had been said by then.

        It strikes before a sync, when most may be lost, and after an acknowledgement, when nothing of it may.
        """
        scenario, seen = SCENARIOS[name], set[bytes]()
        disk = power.Disk.of(self._prepared[name], str(self._root))
        account = Account(scenario.acknowledged)
        for operation in log:
            if operation.kind == "s":
                yield from _new(disk, account, seen)
            if operation.kind != "n":
                disk.take(operation)
                continue
            account.hear(operation.path)
            if account.opened and not account.tried:
                seen.clear()  # the same files may be too little now
                yield from _new(disk, account, seen)
        yield from _new(disk, account, seen)

    def judged(self, name: str, image: power.Image, account: Account) -> list[str]:
        """Return what is wrong with a journal after power was lost."""
        shutil.rmtree(self._root, ignore_errors=True)
        self._root.mkdir()
        image.build(self._root)
        return judge(SCENARIOS[name], self._root / HOME, account)

    @property
    def _root(self) -> Path:
        return self._base / "root"

    def _played(self, name: str, fault: Fault, log: Path | None = None) -> Ended:
        if name not in self._prepared:
            prepared = self._prepared[name] = self._base / f"prepared-{len(self._prepared)}"
            prepared.mkdir()
            SCENARIOS[name].prepare(prepared)
        for folder in (self._root, copies(self._root)):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._prepared[name], self._root)
        return self._forks.run(name, self._root, fault, log=log)


def _new(disk: power.Disk, account: Account, seen: set[bytes]) -> Iterator[tuple[power.Image, Account]]:
    for image in disk.images():
        if (digest := image.digest()) not in seen:
            seen.add(digest)
            yield image, Account(list(account.acknowledged), list(account.tried), opened=account.opened)


def chosen(points: Sequence[T], most: int, *, full: int | None = None) -> Sequence[T]:
    """Return points, evenly spread: in the deep tier all, or as many as `full` says.

    In the wider tier two thirds of `most`, in the quick one half.
    """
    most = {"quick": -(-most // 2), "wider": -(-most * 2 // 3), "deep": full or len(points) or 1}[TIER]
    step = -(-len(points) // most) or 1
    return points[SEED % step :: step]


def red(found: Iterable[tuple[str, list[str]]]) -> list[str]:
    """Return one sentence for each point at which something was found."""
    return [f"{point}: {'; '.join(wrong)}" for point, wrong in found if wrong]
