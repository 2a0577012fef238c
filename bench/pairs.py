"""Two ways of doing one thing, measured in turns, and the table that compares them.

Two rules. Only ratios are compared, never times: both sides of a ratio saw the same machine in the same minute. A
missed aim is a finding; only an equality that does not hold is an error.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")

Unit = Literal["s", "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMost:
    """The ratio is meant to be no more than this."""

    ratio: float

    def __str__(self) -> str:
        return f"at most {self.ratio:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """Both sides must be the same."""

    def __str__(self) -> str:
        return "equal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What we took and what the other side took, round by round."""

    what: str
    against: str
    ours: Sequence[float]
    theirs: Sequence[float]
    aim: AtMost | Equal
    unit: Unit = "s"

    @property
    def ratios(self) -> list[float]:
        """Return the ratio of each round."""
        return [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    @property
    def is_met(self) -> bool:
        """Return whether the median keeps the aim."""
        match self.aim:
            case AtMost(ratio=most):
                return statistics.median(self.ratios) <= most
            case Equal():
                return statistics.median(self.ours) == statistics.median(self.theirs)

    @property
    def wrong(self) -> bool:
        """Return whether this is an error, not only a missed aim."""
        return isinstance(self.aim, Equal) and not self.is_met

    def row(self) -> tuple[str, ...]:
        """Return the cells of this comparison in the table."""
        low, middle, high = min(self.ratios), statistics.median(self.ratios), max(self.ratios)
        return (
            self.what,
            _amount(statistics.median(self.ours), self.unit),
            f"{self.against}: {_amount(statistics.median(self.theirs), self.unit)}",
            f"{middle:.2f} ({low:.2f} to {high:.2f})",
            str(self.aim),
            "yes" if self.is_met else "WRONG" if self.wrong else "no",
        )


HEADER = ("what", "ours", "against", "ratio (min to max)", "aim", "holds")


def table(comparisons: Iterable[Comparison]) -> str:
    """Return the comparisons as an aligned table, which is also Markdown."""
    rows = [HEADER, *(comparison.row() for comparison in comparisons)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    lines.insert(1, "-|-".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" if index != 1 else f"|-{line}-|" for index, line in enumerate(lines))


def paired(ours: Callable[[], T], theirs: Callable[[], T], *, rounds: int) -> tuple[list[T], list[T]]:
    """Return what each gave in each round: A B, B A, A B, … after a first round that does not count."""
    results: tuple[list[T], list[T]] = ([], [])
    for number in range(rounds + 1):
        for side in (0, 1) if number % 2 else (1, 0):
            result = (ours, theirs)[side]()
            if number:
                results[side].append(result)
    return results


def percentile(values: Iterable[float], percent: int) -> float:
    """Return the value that `percent` of all are not above."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def _amount(value: float, unit: Unit) -> str:
    match unit:
        case "bytes":
            return f"{value:,.0f} B"
        case "s":
            return f"{float(f'{value * 1e3:.3g}'):g} ms"
