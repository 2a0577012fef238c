"""What a command left behind whose end nobody wrote down: its live output, and the keeper's own word of how it ended.

Two rules. Nothing is guessed: without the keeper's word it is only known when the command last printed something. What
is read here was written while it ran, beside its live output, and is removed once its call has an outcome.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from holdfast.tools.bash import output
from holdfast.tools.end_record import read_end
from holdfast.tools.shell import Ended, finished, partial
from holdfast.tools.tool import Output, Traces


def traces_of(spool: Path, since: float) -> Traces | None:
    """Return what is left of a command that began at `since` (seconds since the epoch), None if nothing; never raises.

    Its text is the same that a model would have read if its end had been written down.
    """
    try:
        ended = msgspec.json.decode(read_end(spool) or b"", type=Ended)
    except (msgspec.DecodeError, UnicodeDecodeError):  # no end, nobody there to see it, a full disk, or a forged one
        return _cut_short(spool, since)
    return Traces(output=output(finished(ended, spool)), seconds=round(ended.seconds, 3))


def _cut_short(spool: Path, since: float) -> Traces | None:
    text = partial(spool)
    if not text:
        return None
    try:
        last = max(0.0, spool.stat().st_mtime - since)
    except OSError:
        return None
    said = f"{text.rstrip()}\n(it last printed something after {last:.1f} s; when and how it ended is not known)"
    return Traces(output=Output(text=said, interrupted=True))
