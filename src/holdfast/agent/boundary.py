"""What an SDK made of a response, held to its types: SDKs construct what came without looking at it.

One rule: what would not fit into the journal never gets past here.
"""

from __future__ import annotations

from holdfast.agent.model import CallDelta, Finished, StreamEvent, TextDelta, ThinkingDelta
from holdfast.errors import ProviderFailed
from holdfast.session.entries import CallPart, Part, TextPart, ThinkingPart

MOST_TOKENS = 2**53
"""No count of tokens is as large: one that is was made up."""


def expect_sound(event: StreamEvent, name: str) -> StreamEvent:
    """Return the event; raises `ProviderFailed` if something in it is of another type than its field."""
    match event:
        case TextDelta(str()) | ThinkingDelta(str()) | CallDelta(int(), str(), str()):
            return event
        case Finished() if all(map(_is_sound, event.parts)):
            return event
        case _:
            raise ProviderFailed(
                f"Model {name!r} sent what its protocol does not allow: a field of another type. Say 'go on' to try "
                "again, or choose another model; nothing is lost.",
                fault="malformed",
            )


def tokens(counted: object) -> int:
    """Return a count of tokens as the provider gave it, 0 if it is none."""
    if isinstance(counted, bool) or not isinstance(counted, int):
        return 0
    return counted if 0 <= counted < MOST_TOKENS else 0


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
