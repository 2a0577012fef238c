"""The small project the demo works on: one wrong line, one failing test, and two programs that take their time.

Each program writes a line to a log when it does what must not happen twice: its deed and its process id.
"""

from __future__ import annotations

from pathlib import Path

_PRICES = '''\
def total(prices, discount=0):
    """Return the sum of `prices`, less `discount` percent."""
    return sum(prices) * discount / 100
'''

_TEST_PRICES = """\
import unittest

from prices import total


class Prices(unittest.TestCase):
    def test_discount(self):
        self.assertEqual(total([60, 30], discount=10), 81)
"""

_ALL_CHECKS = '''\
"""Every check there is. Be patient."""

import os
import time

with open("checks.log", "a") as log:
    log.write(f"all-checks {os.getpid()}\\n")
print("check 1 of 600 passed", flush=True)
time.sleep(30)
print("check 2 of 600 passed", flush=True)
'''

_RELEASE = '''\
"""Tag the release, wait for its build, upload it: `release.py [upload]`. Never do either of them twice."""

import os
import sys
import time


def do(deed):
    with open("release.log", "a") as log:
        log.write(f"{deed} {os.getpid()}\\n")
    print(f"{deed}: done", flush=True)


if sys.argv[1:] != ["upload"]:
    do("tag")
    time.sleep(30)
do("upload")
'''

FILES = {
    "prices.py": _PRICES,
    "test_prices.py": _TEST_PRICES,
    "all_checks.py": _ALL_CHECKS,
    "release.py": _RELEASE,
}
TEST = ("-m", "unittest", "test_prices")
"""The words after `python` that run the test."""

WRONG, RIGHT = "* discount / 100", "* (100 - discount) / 100"
"""The edit that mends `prices.py`."""

CHECKING = "check 1 of 600 passed"
RELEASING = "tag: done"
"""What the two programs print once they are under way."""

DEEDS = ("all-checks", "tag", "upload")
"""What the programs should have done at the end of the demo, each of it once."""


def lay_out(folder: Path) -> None:
    """Write the files into `folder`, which is created."""
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


def deeds(folder: Path) -> tuple[tuple[str, int], ...]:
    """Return every deed the programs have logged in `folder`, with the id of the process that did it."""
    lines = [line for log in sorted(folder.glob("*.log")) for line in log.read_text("utf-8").splitlines()]
    return tuple((deed, int(pid)) for deed, _, pid in (line.partition(" ") for line in lines))
