"""What `make faults` prints: for each scenario and injector, the points that were tried and the violations found.

    python tests/faults/table.py REPORT

Exits with 1 if anything but what is known to be bad has violations, or if something known to be bad has none.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict


class Row(TypedDict):
    """A line of the report (`tests/faults/report.py`)."""

    scenario: str
    injector: str
    points: int
    of: int
    violations: int
    known_bad: bool
    examples: list[str]
    seed: int


def read(report: Path) -> list[Row]:
    return [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the table, in Markdown: one line for each injector of a scenario, then what must have been found."""
    totals: defaultdict[tuple[bool, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in rows:
        total = totals[row["known_bad"], row["scenario"], row["injector"]]
        total[0] += row["points"]
        total[1] += row["of"]
        total[2] += row["violations"]
    cells = [("scenario", "injector", "points", "of", "violations")]
    cells += [
        (f"{scenario} (known to be bad)" if bad else scenario, injector, *(f"{number:,}" for number in total))
        for (bad, scenario, injector), total in sorted(totals.items())
    ]
    good = [row for row in rows if not row["known_bad"]]
    cells.append(
        (
            "all but what is known to be bad",
            "",
            *(f"{sum(row[key] for row in good):,}" for key in ("points", "of", "violations")),
        )
    )
    widths = [max(len(cell[column]) for cell in cells) for column in range(5)]
    for index, cell in enumerate(cells):
        yield f"| {' | '.join(text.ljust(width) for text, width in zip(cell, widths, strict=True))} |"
        if index == 0:
            yield f"|-{'-|-'.join('-' * width for width in widths)}-|"


def wrong(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each row that is not as it must be."""
    said = [
        f"{row['scenario']}, {row['injector']} (seed {row['seed']}): {example}"
        for row in rows
        if not row["known_bad"]
        for example in row["examples"]
    ]
    caught = {row["scenario"] for row in rows if row["known_bad"] and row["violations"]}
    missed = sorted({row["scenario"] for row in rows if row["known_bad"]} - caught)
    return said + [f"{scenario} is known to be bad, and nothing was found in it" for scenario in missed]


def main(report: str) -> int:
    rows = read(Path(report))
    found = wrong(rows)
    said = found or [f"seeds: {', '.join(map(str, sorted({row['seed'] for row in rows})))}"]
    sys.stdout.write("\n".join([*lines(rows), "", *said, ""]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
