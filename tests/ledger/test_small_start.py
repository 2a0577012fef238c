"""What a small program pays for `check`, `repair` and a ledger: nothing of the agent, a bound in imports and in CPU."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from polling import HANGS

ALLOWED = {"holdfast", "msgspec", "typing_extensions"}
"""The packages that may be loaded beside the standard library."""

HEAVY = ("holdfast.agent", "holdfast.session", "holdfast.providers", "holdfast.host", "holdfast.config", "holdfast.ui")

STARTS = {
    "check and repair": ("from holdfast import check, repair", 12),
    "a ledger": ("from holdfast.ledger import Ledger", 20),
    "a ledger of the root": ("from holdfast import CallRepeated, Ledger", 20),
}


def loaded(code: str) -> list[str]:
    report = f"{code}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, timeout=HANGS, check=True)
    names: list[str] = json.loads(done.stdout)
    return names


@pytest.mark.parametrize("start", STARTS)
def test_a_small_program_loads_little(start: str) -> None:
    code, most = STARTS[start]
    before = set(loaded("pass"))
    names = set(loaded(code)) - before
    tops = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert "holdfast" in tops
    assert tops - ALLOWED == set()
    assert [name for name in names if name.startswith(HEAVY)] == []
    ours = sorted(name for name in names if name.partition(".")[0] == "holdfast")
    assert len(ours) <= most, ours
    assert "asyncio" not in names


def cost(code: str) -> float:
    """Return the CPU seconds of a process that runs this: the least of a few, for another program may disturb one."""
    times: list[float] = []
    for _ in range(7):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", code], timeout=HANGS, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_check_and_repair_cost_less_than_twice_their_one_dependency() -> None:
    """Measured against msgspec, which takes 30 of the 60 ms that this may cost beyond Python, on the same machine."""
    python = cost("pass")
    assert cost("from holdfast import check, repair") - python < 2 * (cost("import msgspec") - python)
