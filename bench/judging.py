"""What judging a command costs before it may run: the lines that take longest, compared with a limit."""

from __future__ import annotations

import time
from pathlib import Path

from holdfast.tools.approval.command_analysis import command_parts
from holdfast.tools.workspace.command_files import disk_surroundings
from pairs import AtMost, Comparison

LIMIT = 0.05
"""Seconds of CPU time for any line of 16 KiB, 256 commands and 1,024 words."""

_MOST = 16_384
_WORST = {
    "16,384 brackets": "[" * _MOST,
    "a pipe of 5,000": ("ls|" * 5_000 + "ls")[:_MOST],
    "255 commands with paths": ";".join(["cat " + " ".join(["a/b/c/d"] * 3)] * 255),
    "a command with 1,000 paths": "cat " + " ".join(f"a/b/{at}" for at in range(1_000)),
    "patterns in 900 folders": "cat many/*/*/*",
    "patterns of every depth": "cat " + " ".join("*/" * depth + "*" for depth in range(1, 30)),
    "170 searches of 900 files": "find many -exec cat {} +; " * 170,
    "128 searches that differ": "; ".join(f"find many -name {at} -exec cat {{}} +" for at in range(128)),
    "255 commands in folders that differ": "; ".join(f"cd many/{at}; cat x{at}/y; cd .." for at in range(85)),
    "240 changes of the folder": "; ".join(["cd many", "cd .."] * 120),
}


def judging(scratch: Path, *, rounds: int) -> list[Comparison]:
    """Compare what judging each of the worst lines takes with the limit."""
    for first in range(30):
        for second in range(30):
            folder = scratch / "many" / str(first) / str(second)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "x.txt").touch()
    return [
        Comparison(
            what=f"CPU time to judge {name}",
            against=f"{LIMIT:g} s",
            ours=[_judged(line, scratch) for _ in range(rounds + 1)][1:],
            theirs=[LIMIT] * rounds,
            aim=AtMost(ratio=1),
        )
        for name, line in _WORST.items()
    ]


def _judged(line: str, root: Path) -> float:
    begun = time.process_time()
    command_parts(line, root=str(root), folder=str(root), around=disk_surroundings())
    return time.process_time() - begun
