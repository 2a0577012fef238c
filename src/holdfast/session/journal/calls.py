"""The life of a call, as entries of a journal: its start, its process, its outcome, and one that came too late."""

from __future__ import annotations

import msgspec

from holdfast.tool_calls import (
    Confined,
    Effect,
    FileChange,
    FileSeen,
    Image,
    Observed,
    Outcome,
    ProcessId,
    RemoteCall,
)


class CallStarted(msgspec.Struct, frozen=True, tag_field="kind", tag="call-started", omit_defaults=True):
    """The effect of `call` may begin now. `changes` let recovery check files; `spool` holds live output.

    `remote` is the server's tool that it calls. `confined` is the wall around a command, "" if there was none.
    `arguments` are those that it runs with if `changed_by`, a part of holdfast, gave it others than the model's.
    `allowed_by` is what allowed it if no question was asked: `free` or `mode:`, `rule:` or `pattern:` with its text; ""
    for a call that only reads, or in an older journal.
    """

    call: str
    effect: Effect
    spool: str | None = None
    changes: tuple[FileChange, ...] = ()
    remote: RemoteCall | None = None
    confined: Confined = ""
    arguments: str = ""
    changed_by: str = ""
    allowed_by: str = ""


class ProcessStarted(msgspec.Struct, frozen=True, tag_field="kind", tag="process-started", omit_defaults=True):
    """Call or user command `call` runs as `process`; recovery finds leftovers by it."""

    call: str
    process: ProcessId


class CallEnded(msgspec.Struct, frozen=True, tag_field="kind", tag="call-ended", omit_defaults=True):
    """The outcome of `call`: `text` and `images` for the model, and `snapshots` of the files it now knows.

    `repeats` is how often in a row the call had this result, if the model was told so in the last line of `text`, or
    how often it would have had it, if it was not started for that reason. `same_as` is the call of the same response
    whose result holds for this one too, "" if there is none.

    `exit` is the exit code of a command that ended by itself, None if there is none or it is not known. `observed` is
    how much of the effect of an interrupted call was seen.
    """

    call: str
    outcome: Outcome
    text: str
    seconds: float = 0.0
    snapshots: tuple[FileSeen, ...] = ()
    images: tuple[Image, ...] = ()
    repeats: int = 0
    same_as: str = ""
    exit: int | None = None
    observed: Observed = "unknown"


class CallLate(msgspec.Struct, frozen=True, tag_field="kind", tag="call-late", omit_defaults=True):
    """An outcome that came after its call was settled. The next user message reports it; the settled result stays."""

    call: str
    outcome: Outcome
    text: str
