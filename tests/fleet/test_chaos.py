"""A short chaos in which the disk of the server is full, too: nothing is lost, doubled, or left to a user."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from skips import require

CHAOS = Path(__file__).with_name("chaos.py")


def test_a_short_chaos_with_a_full_disk_has_no_violation(whole_fleet: None) -> None:
    del whole_fleet
    require("postgresql")
    require("small disk")
    words = "--sessions 10 --prompts 6 --workers 3 --kills 4 --stops 2 --server 1 --full 2 --read-only 1 --seed 7"
    ran = subprocess.run(
        [sys.executable, str(CHAOS), *words.split(), "--within", "240"],
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert ran.returncode == 0, f"{ran.stdout[-4000:]}\n{ran.stderr[-2000:]}"
    assert "\n0 violations" in ran.stdout
    assert re.search(r"'full': [12]", ran.stdout), "the disk was never full, so nothing was tried"
