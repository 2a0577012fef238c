"""What a command left behind whose end nobody wrote down: its live output, and the keeper's own word of how it ended.

Two rules. Nothing is guessed: without the keeper's word it is only known when the command last printed something. What
is read here was written while it ran, beside its live output, and is removed once its call has an outcome.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Literal

import msgspec

from holdfast.tools.bash import output
from holdfast.tools.shell import END, Finished, partial
from holdfast.tools.tool import Output, Traces


class _Ended(msgspec.Struct, frozen=True):
    """How a command ended, in the keeper's words."""

    cause: Literal["exit", "timeout", "stop"]
    status: int | None
    seconds: float
    seen: int
    unkept: str
    leftovers: int
    survivors: int


def traces_of(spool: Path, since: float) -> Traces | None:
    """Return what is left of a command that began at `since` (seconds since the epoch), None if nothing; never raises.

    Its text is the same that a model would have read if its end had been written down.
    """
    text = partial(spool)
    try:
        ended = msgspec.json.decode(_end_of(spool).read_bytes(), type=_Ended)
    except (OSError, msgspec.DecodeError):  # it did not end, nobody was there to see it, or the disk was full
        return _cut_short(spool, text, since)
    status = ended.status
    finished = Finished(
        cause=ended.cause,
        code=status if status is not None and status >= 0 else None,
        signal=-status if status is not None and status < 0 else None,
        seconds=ended.seconds,
        text=text,
        bytes_seen=ended.seen,
        leftovers=ended.leftovers,
        survivors=ended.survivors,
        unkept=ended.unkept,
    )
    return Traces(output=output(finished), seconds=round(ended.seconds, 3))


def forget(spool: Path) -> None:
    """Remove what a command left; never raises."""
    for path in (spool, _end_of(spool)):
        with contextlib.suppress(OSError):  # gone already; or it cannot be removed, and is tried again on resuming
            path.unlink()


def _cut_short(spool: Path, text: str, since: float) -> Traces | None:
    if not text:
        return None
    try:
        last = max(0.0, spool.stat().st_mtime - since)
    except OSError:
        return None
    said = f"{text.rstrip()}\n(it last printed something after {last:.1f} s; when and how it ended is not known)"
    return Traces(output=Output(text=said, interrupted=True))


def _end_of(spool: Path) -> Path:
    return spool.with_name(spool.name + END)
