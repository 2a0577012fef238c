"""One recorded call as it is stored and as it is shown: its name, its arguments, its writer, its outcome."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Literal

import msgspec

from holdfast.tool_calls import Effect

Replay = Literal["never", "safe"]
"""Whether a call that began and has no end may run again: never without a look, or always."""

Look = Callable[[], bool | Awaitable[bool | None] | None]
"""Looks whether an earlier run of a call took effect: True, False, or None if that cannot be known.

For a call in an event loop it may be asynchronous.
"""

CallFate = Literal["ok", "failed", "interrupted", "not_started", "running", "lost"]
"""How a call ended. `running`: its process lives. `lost`: its record is damaged."""

StoredOutcome = Literal["", "ok", "failed", "interrupted", "not_started"]
"""The outcome as it is stored; "" while the call has no end."""

ResultForm = Literal["", "json", "text", "json-file", "text-file"]
"""What the stored result is: nothing, JSON, text, or the name of a file with one of them."""


class CallWriter(msgspec.Struct, frozen=True):
    """The process that began a call: its id, its start in clock ticks, the boot, and the namespace of its id."""

    pid: int
    start: int
    boot: str
    namespace: str = ""


class CallRow(msgspec.Struct, frozen=True, kw_only=True):
    """A call as it is stored. `attempt` counts its runs, `arguments` is "" if they are too long to be stored."""

    scope: str
    id: str
    name: str
    arguments: str
    digest: str
    effect: Effect
    attempt: int
    begun_at: float
    begun_by: str
    ended_at: float = 0.0
    outcome: StoredOutcome = ""
    form: ResultForm = ""
    result: str = ""
    found: str = ""
    """What a look found of an interrupted call: "happened", "not-happened", or ""."""


class CallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a call. `text` is what its model may read as its result."""

    id: str
    name: str
    outcome: CallFate
    text: str
    result: object = None
    arguments: object = None
    attempt: int = 1
    begun_at: float = 0.0
    ended_at: float = 0.0


COLUMNS = CallRow.__struct_fields__


def call_checksum(row: CallRow) -> str:
    """Return what tells a row that is as it was written from one that is damaged."""
    return hashlib.blake2b(msgspec.json.encode(msgspec.structs.astuple(row)), digest_size=16).hexdigest()


def digest_of(text: str) -> str:
    """Return what identifies arguments."""
    return hashlib.sha256(text.encode()).hexdigest()
