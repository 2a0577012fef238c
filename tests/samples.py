"""Which tests a run of the whole tree leaves out, so that `make test` stays at five minutes whatever is added.

How it works. Two kinds of test functions are sampled: the dear ones, which `dear.txt` lists (`dear_tests.py` writes it
from the times of a run), and those with more than `MOST` cases. Of the dear ones the quick tier runs one case in
`SHARE`; where a function has one case, that is one function in `SHARE`. Of the others it runs `MOST` cases: the first,
the last, and each value that cases have in common (a provider, a format, a command) at least once. Which ones, a hash
of their names and HOLDFAST_SEED says, so that it is the same everywhere.

The wider tier goes on where the quick one with the seed before ended: `WIDER` more of `SHARE` dear cases, and all that
is left of the others, beside what is `deep`. So `.ci/run`, which runs the quick tier and then the wider one with the
next seed, runs every cheap case and four fifths of the dear ones, each once. The deep tier runs all.

Three things are never sampled: the contracts, what has the marker `whole`, and what is asked for by name: a folder, a
file, a test or `-k` on the command line runs all that it names, `make test ARGS=tests` every test. So do the runs of
mutants, which name their tests.

Why by what they take, and not by the number of cases alone: most of the time goes to a twelfth of the tests, which
start processes, wait for screens, or try a law. Twelve thousand cases of matrices take a tenth of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from dear_tests import dear, function_of
from tiers import SEED, TIER, Tier

MOST = 40
"""How many cases of a function the quick tier runs."""

SHARE = 5
"""Of so many dear cases the quick tier runs one."""

WIDER = 3
"""And the wider tier so many of the others."""

CONTRACT = Path(__file__).with_name("contract")

LEFT_OUT = pytest.StashKey[bool]()
"""Said of a test that was left out as here, and not by the words of the command line."""

_SAID = pytest.StashKey[str]()


def drawn(cases: Sequence[str], values: Sequence[Sequence[Hashable]], *, dear: bool, tier: Tier, seed: int) -> set[int]:
    """Return the places of the cases of a sampled function that a tier runs; `values` are the parameters of each.

    Laws: it depends on nothing else. With the same seed no case is in two tiers. Of a function that is not dear the
    quick tier has `MOST` cases or all, with the first, the last and every value that cases share, and the wider one the
    rest.
    """
    order = sorted(range(len(cases)), key=lambda at: crc32(f"{seed} {cases[at]}".encode()))
    if dear:
        order = _new_first(order, values)
        turn = (crc32(cases[0].encode()) + seed) % SHARE
        quick, wider = ((len(cases) * many + turn) // SHARE for many in (1, 1 + WIDER))
    else:
        ends = [0, len(cases) - 1]
        order = list(dict.fromkeys([*ends, *_new_first([*ends, *order], values)]))
        quick, wider = max(MOST, _many_that_bring(order, values)), len(cases)
    match tier:
        case "quick":
            return set(order[:quick])
        case "wider":
            return set(order[quick:wider])
        case "deep":
            return set(order)


def _new_first(places: Sequence[int], values: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the places, first those with a shared value that none before them has; each once."""
    once = list(dict.fromkeys(places))
    shared = _shared(values)
    seen: set[tuple[int, Hashable]] = set()
    bringing: list[int] = []
    for at in once:
        if new := shared.intersection(enumerate(values[at])) - seen:
            seen |= new
            bringing.append(at)
    chosen = set(bringing)
    return [*bringing, *(at for at in once if at not in chosen)]


def _many_that_bring(places: Sequence[int], values: Sequence[Sequence[Hashable]]) -> int:
    """Return how many of the places, from the first on, it takes to have every shared value."""
    missing = _shared(values)
    for many, at in enumerate(places):
        if not missing:
            return many
        missing.difference_update(enumerate(values[at]))
    return len(places)


def _shared(values: Sequence[Sequence[Hashable]]) -> set[tuple[int, Hashable]]:
    """Return the values, by the place of their parameter, that more than one case has."""
    seen: set[tuple[int, Hashable]] = set()
    twice: set[tuple[int, Hashable]] = set()
    for row in values:
        for each in enumerate(row):
            (twice if each in seen else seen).add(each)
    return twice


def _values(item: pytest.Item) -> list[Hashable]:
    """Return what tells the parameters of a case from others: plain values by what they are, objects by which one."""
    spec: Any = getattr(item, "callspec", None)
    if spec is None:
        return []
    return [_value(value) for _, value in sorted(spec.params.items())]


def _value(value: object) -> Hashable:
    if isinstance(value, str | bytes | int | float | None):
        return type(value), value
    return id(value)


def left_out(items: Sequence[pytest.Item], *, tier: Tier, seed: int) -> set[int]:
    """Return the places of the tests that a run of the whole tree leaves out in this tier."""
    if tier == "wider":
        seed -= 1  # it goes on where the quick tier ended
    runs: set[int] = set()
    for function, cases in _functions(items).items():
        first = items[cases[0]]
        whole = first.path.is_relative_to(CONTRACT) or first.get_closest_marker("whole") is not None
        is_dear = function in dear()
        if not whole and (is_dear or len(cases) > MOST):
            names, values = [items[at].nodeid for at in cases], [_values(items[at]) for at in cases]
            runs.update(cases[at] for at in drawn(names, values, dear=is_dear, tier=tier, seed=seed))
        else:  # the wider tier draws others of what is deep, and has no use for the rest again
            runs.update(at for at in cases if tier != "wider" or items[at].get_closest_marker("deep"))
    return set(range(len(items))) - runs


def _functions(items: Sequence[pytest.Item]) -> dict[str, list[int]]:
    """Return the places of the cases of each function."""
    found: dict[str, list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        found[function_of(item.nodeid)].append(at)
    return found


def is_of_the_whole_tree(config: pytest.Config) -> bool:
    """Return whether nothing is asked for by name."""
    return config.args_source is not pytest.Config.ArgsSource.ARGS and not config.option.keyword


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take out of a run of the whole tree what its tier leaves out."""
    if not is_of_the_whole_tree(config):
        return
    out = left_out(items, tier=TIER, seed=SEED)
    if not out:
        return
    gone = [items[at] for at in sorted(out)]
    for item in gone:
        item.stash[LEFT_OUT] = True
    config.hook.pytest_deselected(items=gone)
    config.stash[_SAID] = f"{len(items) - len(out)} of {len(items)}"
    items[:] = [item for at, item in enumerate(items) if at not in out]


def summary(config: pytest.Config) -> str:
    """Return how many tests this run was of how many, "" if of all."""
    if not (said := config.stash.get(_SAID, "")):
        return ""
    other = "wider" if TIER == "quick" else "quick"
    return (
        f"Sampled: {said} tests, those of the {TIER} tier. Others run in the {other} one (.ci/run runs both), and all "
        "in make test-all; a folder, a file, a test or -k that is named runs whole."
    )
