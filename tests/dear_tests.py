"""The test functions that take most of the time of a run: `dear.txt` lists them, and this writes it.

    make dear     runs every test with --junitxml, and this with its report

They are the fewest that take `PART` of the time together. So it is the order that counts and not the seconds: a
busy machine makes the same list. A name that is no longer there does nothing; a new test is cheap until the next list.
"""

from __future__ import annotations

import functools
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

LIST = Path(__file__).with_name("dear.txt")
PART = 0.85
"""Of the time of a run, what the dear tests take."""


@functools.cache
def dear() -> frozenset[str]:
    """Return the dear test functions, as `path::name`."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


def function_of(test: str) -> str:
    """Return the function of a test, without the words in brackets that tell its cases apart."""
    return test.partition("[")[0]


def dearest(took: Mapping[str, float], part: float = PART) -> Iterator[str]:
    """Yield the fewest functions that take this part of the time together, the dearest first."""
    left = part * sum(took.values())
    for function, seconds in sorted(took.items(), key=lambda each: (-each[1], each[0])):
        if left <= 0:
            return
        left -= seconds
        yield function


def took(report: Path) -> dict[str, float]:
    """Return the seconds that each function took by a report of pytest."""
    found: dict[str, float] = defaultdict(float)
    for case in ET.parse(report).iter("testcase"):
        path = case.get("classname", "").replace(".", "/")
        found[function_of(f"{path}.py::{case.get('name')}")] += float(case.get("time", "0"))
    return dict(found)


if __name__ == "__main__":
    LIST.write_text("".join(f"{each}\n" for each in sorted(dearest(took(Path(sys.argv[1]))))), encoding="utf-8")
