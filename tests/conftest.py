"""What every test starts from: its own home, and property tests that give the same examples everywhere."""

from __future__ import annotations

import gc
import os
import signal
import sys
from itertools import count
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

from launcher import close_launcher, launcher
from laws import law
from missing_judges import MissingJudges
from needs import APART, add_node
from samples import leave_out, summary
from skips import REQUIRED, names_of, require, required
from tiers import SEED, TIER, USUAL_SEED

pytest_plugins = ["forked_workers", "ran_assertions"]

settings.register_profile(
    "tier",
    derandomize=SEED == USUAL_SEED,
    database=None,
    print_blob=True,
    deadline=None,
    max_examples=law().max_examples,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tier")

sys.meta_path.append(MissingJudges())

gc.disable()  # until everything is loaded: `pytest_collection_finish`

_COLLECTIONS = 20_000, 20, 20
"""Objects and rounds between collections: ten times as many as usual, for tests make many and keep few."""

_HOMES = count()
"""Numbers for the folders: `mktemp` would list all of them for each."""

FAULTS = Path(__file__).parent / "faults"
E2E = Path(__file__).with_name("e2e")
CONTRACT = Path(__file__).with_name("contract")

# A background job of a shell ignores SIGINT, and so would every process a test starts: no Ctrl+C would reach one. A
# signal that is caught is reset to its default when a program starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGHUP, signal.SIGQUIT):  # under nohup, and likewise by a shell
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, lambda _number, _frame: None)


def pytest_report_header() -> str:
    """Return what any run can be played again with."""
    return f"tier: HOLDFAST_TIER={TIER} HOLDFAST_SEED={SEED} {REQUIRED}={','.join(sorted(required()))}"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Draw the examples of the laws with the seed, before Hypothesis asks for its own option."""
    if SEED != USUAL_SEED and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(SEED)
    add_node(os.environ)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the laws and the faults as `deep`, and give what is deep as long as it takes: a number bounds it.

    Then what this tier leaves out goes (`samples.py`).

    Modules come in an order that mixes the folders: tests that wait then stand beside tests that compute, in every
    process and at every time. Otherwise all processes wait for terminals at once, and the cores are idle. The contracts
    come first and stay together: a process that runs one parses the whole tree for it.
    """
    items.sort(key=lambda item: (not item.path.is_relative_to(CONTRACT), crc32(item.path.name.encode())))
    for item in items:
        if item.path.is_relative_to(CONTRACT):
            item.add_marker(pytest.mark.one_worker("contract"))
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False) or item.path.is_relative_to(FAULTS):
            item.add_marker(pytest.mark.deep)
        if APART in names_of(item):
            item.add_marker(pytest.mark.refused)
        if item.get_closest_marker("deep") and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(1800))
    leave_out(config, items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say of how many tests this was a sample."""
    if words := summary(config):
        terminalreporter.write_line(words)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what needs more than is here, before anything is set up for it."""
    for name in names_of(item):
        require(name)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep what is loaded now, ten thousand tests and what they import, out of every garbage collection from here.

    Workers share the launcher that is begun before they are forked: to get warm takes seconds.
    """
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(*_COLLECTIONS)
    if session.config.option.workers != "0" and any(item.path.is_relative_to(E2E) for item in session.items):
        launcher()


def pytest_unconfigure() -> None:
    """End what the tests shared."""
    close_launcher()


@pytest.fixture(autouse=True)
def holdfast_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that HOLDFAST_HOME names for this test: no test sees the user's sessions or settings."""
    home = tmp_path_factory.getbasetemp() / f"home{next(_HOMES)}"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("HOLDFAST_HOME", str(home))
    return home
