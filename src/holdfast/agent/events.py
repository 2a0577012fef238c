"""What the driver tells whoever listens: facts once they are durable, and live text as it comes.

Two rules. A fact is the journal's own entry, so that a resumed session is drawn by the code that drew it live. A live
event promises nothing: what it showed may be missing after a crash, up to the last second.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.session.entries import Entry


@dataclass(frozen=True, slots=True)
class Fact:
    """`entry` is on disk; `seq` is its place in the journal."""

    seq: int
    entry: Entry


@dataclass(frozen=True, slots=True)
class LiveText:
    """More text of the answer to request `step`."""

    step: int
    text: str


@dataclass(frozen=True, slots=True)
class LiveThinking:
    """More of the model's reasoning in request `step`."""

    step: int
    text: str


@dataclass(frozen=True, slots=True)
class LiveCall:
    """More of a call the model is writing: `index` is its part of the response, `arguments` a piece of raw JSON."""

    step: int
    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class LiveOutput:
    """What a running call printed."""

    call: str
    text: str


@dataclass(frozen=True, slots=True)
class NotRecorded:
    """Something happened that could not be journalled, with what to do; the session is read-only until it can be."""

    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A check of debug found something that is not as it must be, or an image that was named cannot be shown."""

    message: str


@dataclass(frozen=True, slots=True)
class Shortening:
    """What is done to shorten the conversation, as a sentence for a person; what comes of it is a fact."""

    message: str


Event = Fact | LiveText | LiveThinking | LiveCall | LiveOutput | Shortening | NotRecorded | Finding
