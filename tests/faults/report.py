"""What was tried and what it found: a line for each scenario and injector, from which the table is printed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from tiers import DEEP, SEED


def record(
    scenario: str,
    injector: str,
    *,
    points: int,
    violations: Sequence[str],
    of: int | None = None,
    slowest: float | None = None,
    known_bad: bool = False,
) -> None:
    """Print how many `points` of a scenario were tried, `of` how many there are, and append it to the report.

    The report is a file of JSON lines, named by HOLDFAST_FAULTS_REPORT; without that there is none. What is `known_bad`
    must have violations, everything else none. `slowest` is the longest that it took to end, in seconds, where that is
    bounded and was measured.
    """
    row = {
        "test": os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")[0].partition(" ")[0],
        "scenario": scenario,
        "injector": injector,
        "points": points,
        "of": points if of is None else of,
        "slowest": slowest,
        "violations": len(violations),
        "known_bad": known_bad,
        "examples": list(violations[:5]),
        "seed": SEED,
        "full": DEEP,
    }
    print(f"{scenario}, {injector}: {points} of {row['of']} points, {len(violations)} violations, seed {SEED}")  # noqa: T201 - shown when the test fails
    if path := os.environ.get("HOLDFAST_FAULTS_REPORT"):
        with Path(path).open("a", encoding="utf-8") as report:  # a line at a time: several processes may write
            report.write(json.dumps(row, ensure_ascii=False) + "\n")
