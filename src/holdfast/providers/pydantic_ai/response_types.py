"""Checks the types of what an SDK made of a response: SDKs build their objects from the JSON without checking it.

A value that does not fit into the journal never gets past this module.
"""

from __future__ import annotations

from holdfast.errors import ProviderFailed
from holdfast.providers.model import CallDelta, StreamEvent, StreamFinished, TextDelta, ThinkingDelta
from holdfast.session.journal.entries import Part
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart


def expect_sound(event: StreamEvent, name: str) -> StreamEvent:
    """Return the event; raises `ProviderFailed` if a field has the wrong type."""
    match event:
        case TextDelta(str()) | ThinkingDelta(str()) | CallDelta(int(), str(), str()):
            return event
        case StreamFinished() if all(map(_is_sound, event.parts)):
            return event
        case _:
            raise ProviderFailed(
                f"Model {name!r} sent an invalid response: a field has the wrong type.", fault="malformed"
            )


def _is_sound(part: Part) -> bool:
    match part:
        case TextPart(text=str()):
            return True
        case ThinkingPart(
            text=str(), signature=str() | None, id=str() | None, provider=str() | None, details=dict() | None
        ):
            return True
        case CallPart(
            name=str(),
            arguments=str(),
            wire_id=str() | None,
            item_id=str() | None,
            provider=str() | None,
            details=dict() | None,
        ):
            return True
        case _:
            return False
