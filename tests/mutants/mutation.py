"""What `make mutants` runs: each mutant of the lists in a copy of the tree, and the tests that must notice it.

    python tests/mutants/mutation.py [-k TEXT] [-j COPIES] [--write PAGE]

Exits with 1 if a mutant survives, cannot be tried, or is not as a list may have it. With --write, a whole run is also
written to the page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from copies import Copy, Ran
from listed import Mutant, listed, wrong
from table import replaced

LISTS = "tests/mutants"
PATIENCE = 60.0
"""Seconds that a run may take beside ten times what its tests take without the mutant: on a busy machine, too."""

End = Literal["killed", "hangs", "survives", "untried", "equivalent"]
ORDER: tuple[End, ...] = ("equivalent", "killed", "hangs", "untried", "survives")


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a mutant: `by` is the test that failed, why no test does, or why it could not be tried."""

    mutant: Mutant
    end: End
    by: str = ""
    seconds: float = 0.0


def of_test(took: dict[str, float | None], test: str) -> list[float | None]:
    """Return what a test took, each of its cases by itself."""
    return [seconds for name, seconds in took.items() if name == test or name.startswith(f"{test}[")]


class Trial:
    """The copies, and how long each test takes in them without a mutant."""

    def __init__(self, copies: Sequence[Copy], *, patience: float) -> None:
        self._copies: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._copies.put(copy)
        self._count = len(copies)
        self._patience = patience
        self._took: dict[str, float | None] = {}

    def each(self, mutants: Sequence[Mutant], tell: Callable[[Tried], None]) -> list[Tried]:
        """Return what became of each mutant; `tell` is called with it as soon as it is known."""
        tests = sorted({test for each in mutants for test in each.tests})
        files = sorted({test.partition("::")[0] for test in tests})
        shares = [[t for t in tests if t.partition("::")[0] in files[n :: self._count]] for n in range(self._count)]

        def tried(mutant: Mutant) -> Tried:
            found = self._tried(mutant)
            tell(found)
            return found

        with ThreadPoolExecutor(self._count) as pool:
            list(pool.map(self._unchanged, filter(None, shares)))
            return list(pool.map(tried, mutants))

    def _unchanged(self, tests: Sequence[str]) -> None:
        """Learn how long tests take, and which fail without any mutant."""
        copy = self._copies.get()
        try:
            ran = copy.run(tests, within=3600, to_the_end=True)
            if ran.how in {"passed", "failed"}:
                self._took |= copy.took()
            else:
                self._took |= dict.fromkeys(tests, None)
                _tell(f"Tests without a mutant: {ran.how}.", ran.said)
        finally:
            self._copies.put(copy)

    def _tried(self, mutant: Mutant) -> Tried:
        if mutant.equivalent:
            return Tried(mutant, "equivalent", mutant.equivalent)
        if why := self._cannot(mutant):
            return Tried(mutant, "untried", why)
        usual = sum(sum(filter(None, of_test(self._took, test))) for test in mutant.tests)
        copy = self._copies.get()
        try:
            with copy.changed(mutant):
                ran = copy.run(mutant.tests, within=self._patience + 10 * usual)
        finally:
            self._copies.put(copy)
        return _ended(mutant, ran)

    def _cannot(self, mutant: Mutant) -> str:
        """Return why the mutant's tests say nothing of it, "" if they do."""
        for test in mutant.tests:
            took = of_test(self._took, test)
            if not took:
                return f"{test} is skipped here"
            if None in took:
                return f"{test} does not pass without it"
        return ""


def _ended(mutant: Mutant, ran: Ran) -> Tried:
    match ran.how:
        case "passed":
            return Tried(mutant, "survives", ", ".join(mutant.tests), ran.seconds)
        case "failed":
            return Tried(mutant, "killed", ran.first, ran.seconds)
        case "hangs":
            return Tried(mutant, "hangs", ran.first or f"one of {', '.join(mutant.tests)}", ran.seconds)
        case "broken":
            return Tried(mutant, "untried", f"no test ran: {ran.said.strip()[-400:]}", ran.seconds)


def lines(tried: Sequence[Tried]) -> Iterator[str]:
    """Yield a line for each mutant, the survivors last, and how many there are of each end."""
    ordered = sorted(tried, key=lambda each: (ORDER.index(each.end), each.mutant.file, each.mutant.name))
    for each in ordered:
        yield f"{each.end:10} {each.seconds:6.1f} s  {each.mutant.file}  {each.mutant.name}  [{each.by}]"
    yield ", ".join(f"{sum(each.end == end for each in tried)} {end}" for end in ORDER)


def counted(tried: Sequence[Tried]) -> Iterator[str]:
    """Yield what goes on the page: how many mutants of each package were killed, then those that no test can see."""
    yield "| package | mutants | killed | of these by a hang | equivalent | survived |"
    yield "|---|---|---|---|---|---|"
    packages = sorted({each.mutant.package for each in tried})
    for name in packages:
        yield f"| {name} | {_sums([each for each in tried if each.mutant.package == name])} |"
    yield f"| all | {_sums(tried)} |"
    alike = sorted((each.mutant.package, each.mutant.name, each.by) for each in tried if each.end == "equivalent")
    if alike:
        yield ""
        yield "| equivalent | why no test can see it |"
        yield "|---|---|"
        yield from (f"| {package}: {name} | {why} |" for package, name, why in alike)


def _sums(tried: Sequence[Tried]) -> str:
    ends = [each.end for each in tried]
    killed = ends.count("killed") + ends.count("hangs")
    left = ends.count("survives") + ends.count("untried")
    return " | ".join(map(str, (len(ends), killed, ends.count("hangs"), ends.count("equivalent"), left)))


def main(root: Path, chosen: str, copies: int, patience: float, page: Path | None) -> int:
    """Try the mutants whose name, file or package has `chosen` in it."""
    every = listed(root / LISTS)
    if found := list(wrong(every, root, written=_Anything())):
        _tell(*found)
        return 1
    mutants = [each for each in every if chosen in f"{each.file} {each.name}"]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(copies) as pool:
        made = list(pool.map(partial(Copy, root), [Path(folder).resolve() / str(number) for number in range(copies)]))
        _tell(f"{len(mutants)} mutants in {copies} copies; first their tests without them ...")
        tried = Trial(made, patience=patience).each(mutants, lambda each: _tell(*list(lines([each]))[:1]))
    _tell("", *lines(tried), "", *counted(tried))
    if page is not None and len(mutants) == len(every):
        page.write_text(replaced(page.read_text(encoding="utf-8"), "mutants", list(counted(tried))), encoding="utf-8")
    return 1 if not tried or any(each.end in {"survives", "untried"} for each in tried) else 0


class _Anything:
    """Every test: which of them are there is seen when they run."""

    def __contains__(self, name: object) -> bool:
        return True


def _tell(*said: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in said))
    sys.stdout.flush()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("-k", default="", metavar="TEXT", help="only mutants with this in their file or name")
    arguments.add_argument("-j", type=int, default=2, metavar="COPIES", help="how many are tried at once")
    arguments.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    arguments.add_argument("--patience", type=float, default=PATIENCE, metavar="SECONDS")
    arguments.add_argument("--write", type=Path, metavar="PAGE")
    given = arguments.parse_args()
    sys.exit(main(given.root.resolve(), given.k, given.j, given.patience, given.write))
