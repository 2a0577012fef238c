"""What `make faults` prints: for each scenario and injector, the points that were tried and the violations found.

    python tests/faults/table.py REPORT [--write PAGE]

Exits with 1 if anything but what is known to be bad has violations, or if something known to be bad has none. With
--write, what the tests found is written to the page too, under the promises that it names them for.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict


class Row(TypedDict):
    """A line of the report (`tests/faults/report.py`)."""

    test: str
    scenario: str
    injector: str
    points: int
    of: int
    violations: int
    known_bad: bool
    examples: list[str]
    seed: int
    full: bool


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
    sentences = [
        f"{row['scenario']}, {row['injector']} (seed {row['seed']}): {example}"
        for row in rows
        if not row["known_bad"]
        for example in row["examples"]
    ]
    caught = {row["scenario"] for row in rows if row["known_bad"] and row["violations"]}
    missed = sorted({row["scenario"] for row in rows if row["known_bad"]} - caught)
    return sentences + [f"{scenario} is known to be bad, and nothing was found in it" for scenario in missed]


# --- the page on what is promised -----------------------------------------------------------------------------------


def proofs(page: str) -> dict[str, list[str]]:
    """Return the tests that the page names for each promise, by `P1` to `P9`."""
    sections = re.findall(r"^## (P\d) (.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    return {promise: re.findall(r"`(tests/[\w/]+\.py::\w+)`", section) for promise, section in sections}


def counted(rows: Sequence[Row], page: str) -> Iterator[str]:
    """Yield what was tried: for each promise, by each test, and in what is known to be bad."""
    good = [row for row in rows if not row["known_bad"]]
    seeds = ", ".join(map(str, sorted({row["seed"] for row in rows})))
    every = "at every point" if all(row["full"] for row in rows) else "at some of the points"
    yield f"Python {sys.version_info[0]}.{sys.version_info[1]}, seed {seeds}, {every}."
    yield ""
    yield "| promise | points tried | violations |"
    yield "|---|---|---|"
    for promise, tests in proofs(page).items():
        of = [row for row in good if row["test"] in tests]
        yield f"| {promise} | {_sums(of) if of else 'by laws and real runs | 0'} |"
    yield f"| all that is not known to be bad | {_sums(good)} |"
    yield ""
    yield "| test | scenarios | faults | points tried | violations |"
    yield "|---|---|---|---|---|"
    for test in sorted({row["test"] for row in good}):
        of = [row for row in good if row["test"] == test]
        scenarios, injectors = (len({row[key] for row in of}) for key in ("scenario", "injector"))
        yield f"| `{test}` | {scenarios} | {injectors} | {_sums(of)} |"
    yield ""
    yield "| known to be bad | points tried | violations |"
    yield "|---|---|---|"
    bad = [row for row in rows if row["known_bad"]]
    for scenario in sorted({row["scenario"] for row in bad}):
        yield f"| {scenario} | {_sums([row for row in bad if row['scenario'] == scenario])} |"


def _sums(rows: Sequence[Row]) -> str:
    return " | ".join(f"{sum(row[key] for row in rows):,}" for key in ("points", "violations"))


def replaced(page: str, name: str, lines: Sequence[str]) -> str:
    """Return the page with other lines between its comments `data: NAME` and `end`; raises if it has none of that name.

    Everything else on it is prose.
    """
    place = re.compile(rf"(<!-- data: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    body = "".join(f"{line}\n" for line in lines)
    text, times = place.subn(lambda found: f"{found[1]}{body}{found[2]}", page)
    if times != 1:
        raise ValueError(f"Page has {times} places for {name!r} (expected one).")
    return text


def main(report: str, page: Path | None) -> int:
    rows = read(Path(report))
    if page is not None:
        text = page.read_text(encoding="utf-8")
        page.write_text(replaced(text, "points", list(counted(rows, text))), encoding="utf-8")
    found = wrong(rows)
    sentences = found or [f"seeds: {', '.join(map(str, sorted({row['seed'] for row in rows})))}"]
    sys.stdout.write("\n".join([*lines(rows), "", *sentences, ""]))
    return 1 if found else 0


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("report")
    arguments.add_argument("--write", type=Path, metavar="PAGE")
    options = arguments.parse_args()
    sys.exit(main(options.report, options.write))
