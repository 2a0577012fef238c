"""What every test starts from: a home of its own, and property tests that give the same examples everywhere."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# `check` is what `make test` runs: bounded, and the same examples every time, so that red means changed code.
# HYPOTHESIS_PROFILE=ci tries the laws of tests/laws.py on more of them; HYPOTHESIS_PROFILE=search looks for new ones.
settings.register_profile(
    "check",
    derandomize=True,
    print_blob=True,
    deadline=None,
    max_examples=100,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("check"))
settings.register_profile("search", settings.get_profile("check"), derandomize=False, max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "check"))

# A background job of a shell ignores SIGINT, and so would every process a test starts: no Ctrl+C would reach one. A
# signal that is caught is reset to its default when a program starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    """Return the seed of whatever is random, so that any run can be played again."""
    return f"faults: HOLDFAST_FAULTS_SEED={os.environ.get('HOLDFAST_FAULTS_SEED', '1')}"


@pytest.fixture(autouse=True)
def holdfast_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder that HOLDFAST_HOME names for this test: no test sees the sessions or settings of a person."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOLDFAST_HOME", str(home))
    return home
