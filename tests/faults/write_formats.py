"""Write the journals of this FORMAT, once: PYTHONPATH=tests:tests/faults python tests/faults/write_formats.py NAME

NAME is `format-2`; before the next raise, `format-2-last`, with the kinds that came since. A journal that exists stays:
it is what the code of its day wrote.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from store_plans import prompt

from holdfast.session.journal.entries import (
    CallEnded,
    CallStarted,
    Entry,
    RequestStarted,
    ResponseEnded,
    TurnEnded,
    encode,
)
from holdfast.session.journal.parts import CallPart, TextPart, Usage
from holdfast.session.storage.sqlite_store import SqliteStore
from holdfast.testing.store_checks import EXAMPLES

JOURNALS = Path(__file__).with_name("journals")


def every_kind() -> list[Entry]:
    """Return an entry of every kind, a turn with a body in `blobs`, and one that a kill left with a call that ran."""
    journal: list[Entry] = [*EXAMPLES]
    for turn in (2, 3):
        calls = tuple(CallPart(id=f"f{turn}-{each}", name="bash", arguments='{"command": "make"}') for each in (1, 2))
        answer = ResponseEnded(step=turn, model="m:m", parts=(TextPart(text="I look."), *calls), usage=Usage())
        journal += [prompt(turn), RequestStarted(step=turn, attempt=1, model="m:m"), answer]
        journal += [CallStarted(call=call.id, effect="execute") for call in calls]
        journal.append(CallEnded(call=calls[0].id, outcome="ok", text="z" * 40_000))
        if turn == 2:
            journal.append(CallEnded(call=calls[1].id, outcome="failed", text="(exit code 2, 0.1 s)"))
            journal.append(TurnEnded(turn=turn, reason="end_turn", cause="finished"))
    return journal


def main(name: str) -> None:
    """Write the journal `name`, as a clean end leaves it and as a kill does."""
    listed = JOURNALS / f"{name}.jsonl"
    if listed.exists():
        raise SystemExit(f"{listed.name} exists, and stays as it is.")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "s")
        store = SqliteStore.create(folder, now=lambda: 1_700_000_000.0)
        for entry in every_kind():
            store.append([entry], expected=store.length)
        shutil.copytree(folder, JOURNALS / f"{name}-killed")
        store.close()
        shutil.copytree(folder, JOURNALS / f"{name}-closed")
        for lock in JOURNALS.glob(f"{name}-*/lock"):
            lock.write_bytes(b"")  # it names this machine
    listed.write_bytes(b"".join(encode(entry) + b"\n" for entry in every_kind()))


if __name__ == "__main__":
    main(*sys.argv[1:])
