"""`make bench`: every measurement paired in one run, printed as ratios with their aims.

A missed aim ends with exit code 0, for a machine may be busy; an equality that does not hold ends with 1.
"""

from __future__ import annotations

import argparse
import gc
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import confinement
import guarding
import journal
import judging
import keys
import large_session
import latency
import looking
import many_sessions
import rules
import screen
import searching
import server_costs
import startup
from pairs import Comparison, table

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured: `rounds` in this process, `starts` of processes, `requests` of each provider."""

    rounds: int = 5
    starts: int = 15
    requests: int = 9
    appends: int = 200
    entries: int = 10_000
    sessions: int = 100
    few: int = 10
    many: int = 5_000
    turns: int = 30
    stops: int = 50
    sends: int = 15
    messages: int = 5_000
    tokens: int = 1_000
    prompts: int = 7
    seconds: float = 20.0
    openings: int = 3
    lengths: tuple[int, ...] = (1_000, 10_000, 100_000)
    document: int = 200_000_000
    files: int = 100_000
    stored: int = 10_000
    large: int = 200_000_000
    gigabyte: int = 1_000_000_000


TINY = Sizes(
    rounds=1,
    starts=1,
    requests=1,
    appends=20,
    entries=200,
    sessions=3,
    many=50,
    turns=5,
    stops=2,
    sends=1,
    messages=20,
    tokens=10,
    prompts=1,
    seconds=0.5,
    openings=1,
    lengths=(20, 40),
    document=200_000,
    files=1_500,
    stored=12,
    large=200_000,
    gigabyte=1_000_000,
)
"""Enough to see that everything runs; its ratios mean nothing."""

MEASUREMENTS: dict[str, Callable[[Path, Sizes], list[Comparison]]] = {
    "version": lambda folder, sizes: startup.version(folder, rounds=sizes.starts),
    "import": lambda folder, sizes: startup.library(folder, rounds=sizes.starts),
    "models": lambda folder, sizes: startup.model_facts(folder, rounds=sizes.starts),
    "skills": lambda folder, sizes: startup.skills(folder, rounds=sizes.starts),
    "list": lambda folder, sizes: startup.listing(folder, sessions=sizes.sessions, rounds=sizes.starts),
    "sessions": lambda folder, sizes: many_sessions.listing(
        folder, sessions=sizes.stored, large=sizes.large, rounds=sizes.rounds
    ),
    "openai-chat": lambda folder, sizes: startup.first_request(folder, "openai-chat", rounds=sizes.requests),
    "anthropic": lambda folder, sizes: startup.first_request(folder, "anthropic", rounds=sizes.requests),
    "append": lambda folder, sizes: journal.appending(folder, rounds=sizes.rounds, appends=sizes.appends),
    "open": lambda folder, sizes: journal.opening(folder, entries=sizes.entries, rounds=sizes.rounds),
    "fold": lambda _, sizes: journal.folding(entries=sizes.entries, rounds=sizes.rounds),
    "rules": lambda _, sizes: rules.rules(lengths=sizes.lengths, rounds=max(1, sizes.rounds - 2)),
    "memory": lambda folder, sizes: rules.memory(folder, size=sizes.document),
    "search": lambda folder, sizes: searching.searching(folder, files=sizes.files, rounds=max(1, sizes.rounds - 2)),
    "confinement": lambda folder, sizes: confinement.confining(folder, rounds=sizes.stops),
    "judging": lambda folder, sizes: judging.judging(folder, rounds=sizes.stops),
    "guard": lambda _, sizes: guarding.guarding(rounds=sizes.rounds),
    "stop": lambda folder, sizes: latency.stopping(folder, rounds=sizes.stops),
    "block": lambda _, sizes: latency.blocking(messages=sizes.messages, rounds=sizes.sends),
    "tokens": lambda _, sizes: latency.reading(tokens=sizes.tokens, rounds=sizes.rounds),
    "debug": lambda folder, sizes: looking.logging(folder, messages=sizes.lengths[0], rounds=sizes.rounds),
    "verify": lambda folder, sizes: looking.verifying(folder, entries=sizes.entries, rounds=sizes.rounds),
    "prompt": lambda folder, sizes: screen.prompting(folder, rounds=sizes.prompts),
    "escape": lambda folder, sizes: screen.stopping(folder, rounds=sizes.stops),
    "servers": lambda folder, sizes: server_costs.starting(folder, rounds=sizes.prompts),
    "server-stop": lambda folder, sizes: server_costs.stopping(folder, rounds=sizes.stops),
    "keys": lambda folder, sizes: keys.pressing(folder, rounds=sizes.stops),
    "stream": lambda folder, sizes: screen.streaming(folder, seconds=sizes.seconds),
    "resume": lambda folder, sizes: screen.opening(folder, few=50, many=sizes.messages, rounds=sizes.openings),
    "large": lambda folder, sizes: large_session.resuming(folder, size=sizes.gigabyte, rounds=sizes.openings),
    "request": lambda _, sizes: journal.before_requests(messages=sizes.messages, rounds=sizes.rounds),
    "bytes": lambda folder, sizes: journal.written(folder, few=sizes.few, many=sizes.many, turns=sizes.turns),
}


def main(argv: Sequence[str]) -> int:
    """Measure, print the table and return the exit code."""
    parser = argparse.ArgumentParser(prog="bench/run.py", description="Measure holdfast against what it stands on.")
    parser.add_argument(
        "names",
        nargs="*",
        choices=[[], *MEASUREMENTS],  # Python 3.11 looks for the empty default among them
        metavar="NAME",
        help=f"what to measure (default: everything): {', '.join(MEASUREMENTS)}",
    )
    parser.add_argument("--tiny", action="store_true", help="see that everything runs; the ratios mean nothing")
    arguments = parser.parse_args(argv)
    sizes = TINY if arguments.tiny else Sizes()
    comparisons: list[Comparison] = []
    build = ROOT / "build"  # a temporary folder may be kept in memory, where a sync costs nothing
    build.mkdir(exist_ok=True)
    for name in arguments.names or MEASUREMENTS:
        print(f"measuring: {name}", file=sys.stderr)
        gc.collect()
        gc.freeze()  # else looking through what the last ones left would count as time of the next
        with tempfile.TemporaryDirectory(prefix="bench-", dir=build) as scratch:
            comparisons += MEASUREMENTS[name](Path(scratch), sizes)
    print(table(comparisons))
    return report(comparisons)


def report(comparisons: Sequence[Comparison]) -> int:
    """Say what does not hold, and return the exit code."""
    for comparison in comparisons:
        if comparison.wrong:
            print(f"{comparison.what}: expected {comparison.aim}. This is an error, not noise.", file=sys.stderr)
    missed = [comparison.what for comparison in comparisons if not comparison.is_met and not comparison.wrong]
    if missed:
        print(f"Missed in this run: {'; '.join(missed)}. Run it again before believing it.", file=sys.stderr)
    return 1 if any(comparison.wrong for comparison in comparisons) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
