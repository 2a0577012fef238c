"""Records of how commands ended, as their supervisor would have written them."""

from __future__ import annotations

import json
from pathlib import Path

from holdfast.tools.process.end_record import end_of, new_seal, write_end

ENDED: dict[str, object] = {
    "kind": "ended",
    "call": "A",
    "cause": "exit",
    "status": 0,
    "seconds": 1.23456,
    "seen": 4,
    "unkept": "",
    "leftovers": 0,
    "survivors": 0,
}


def left(folder: Path, text: str | None, *, call: str = "A", **ended: object) -> Path:
    """Write what a command leaves, with the record of its end if something is said of that; return its live output."""
    name, seal = new_seal(call)
    spool = folder / name
    if text is not None:
        spool.write_text(text)
    if ended:
        write_end(str(end_of(spool)), seal, json.dumps(ENDED | {"call": call} | ended))
    return spool
