"""The traces of a command whose end was not journalled: its live output, and the supervisor's record of its end.

Nothing is guessed: without that record, only the time of the last output is known. These files were written during the
run and are deleted once the call has an outcome.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from holdfast.tools.background.kept_output import output_file
from holdfast.tools.builtin.bash import command_output, keep_cut_output
from holdfast.tools.process.command_end import CommandEnded, command_result, never_begun, stored_output
from holdfast.tools.process.end_record import read_end
from holdfast.tools.tool import ToolOutput, Traces
from holdfast.typed_data import decode_json


def traces_of(spool: Path, since: float, *, outputs: Path | None = None) -> Traces | None:
    """Return the traces of a command that began at `since` (seconds since the epoch), if any. Never raises.

    A long output is kept in `outputs`. The text is the same as if the end had been journalled normally.
    """
    try:
        ended = decode_json(read_end(spool) or b"", CommandEnded)
    except (msgspec.DecodeError, UnicodeDecodeError):  # missing (killed, disk full) or forged
        return _cut_short(spool, since)
    if not ended.has_begun and ended.cause == "exit":
        return Traces(output=ToolOutput(text=never_begun(ended, spool), ok=False), seconds=round(ended.seconds, 3))
    found = command_result(ended, spool)
    file = None if outputs is None else output_file(outputs, spool.name.partition(".")[0])
    return Traces(output=command_output(found, keep_cut_output(spool, file, found)), seconds=round(ended.seconds, 3))


def _cut_short(spool: Path, since: float) -> Traces | None:
    text = stored_output(spool)
    if not text:
        return None
    try:
        last = max(0.0, spool.stat().st_mtime - since)
    except OSError:
        return None
    note = f"{text.rstrip()}\n(its last output came after {last:.1f} s; when and how it ended is unknown)"
    return Traces(output=ToolOutput(text=note, interrupted=True))
