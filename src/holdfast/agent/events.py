"""What the session emits to its listeners: facts once they are durable, and live text as it arrives.

A fact is the journal entry itself, so the same code draws a live and a resumed session. A live event promises nothing:
its text may be missing after a crash, up to the last second.
"""

from __future__ import annotations

import msgspec

from holdfast.errors import ProviderFault
from holdfast.session.journal.entries import Entry


class Fact(msgspec.Struct, frozen=True):
    """A durable journal entry; `seq` is its position in the journal."""

    seq: int
    entry: Entry


class LiveText(msgspec.Struct, frozen=True):
    """More text of the answer to request `step`."""

    step: int
    text: str


class LiveThinking(msgspec.Struct, frozen=True):
    """More of the model's thinking in request `step`."""

    step: int
    text: str


class LivePrompt(msgspec.Struct, frozen=True):
    """A server of the user's own has read so much of the prompt of request `step`, in percent."""

    step: int
    percent: int


class LiveCall(msgspec.Struct, frozen=True):
    """More of a call being written: `index` is its part of the response, `arguments` a fragment of raw JSON."""

    step: int
    index: int
    name: str
    arguments: str


class LiveOutput(msgspec.Struct, frozen=True):
    """Output of a running call."""

    call: str
    text: str


class TurnFailed(msgspec.Struct, frozen=True):
    """The provider has failed and ended the turn. The `TurnEnded` fact says why; `fault` selects the surface's hint."""

    fault: ProviderFault


class NotRecorded(msgspec.Struct, frozen=True):
    """Something could not be journalled; the message says what to do. The session is read-only until it can be."""

    message: str


class CheckFinding(msgspec.Struct, frozen=True):
    """A debug check failed, a named image cannot be shown, or a setting is not sent as it was set."""

    message: str


class Shortening(msgspec.Struct, frozen=True):
    """Progress of pruning or compaction, as a sentence for the user. Its result is a fact."""

    message: str


Event = (
    Fact
    | LiveText
    | LiveThinking
    | LivePrompt
    | LiveCall
    | LiveOutput
    | Shortening
    | TurnFailed
    | NotRecorded
    | CheckFinding
)
