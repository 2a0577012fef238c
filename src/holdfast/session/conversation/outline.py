"""The messages to be sent, as sizes and ids, for callers that need the structure without the content. Pure.

An outline contains no text of the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

import msgspec

from holdfast.history.shape import Role
from holdfast.session.conversation.conversation import ConversationMessage, UserMessage
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart


class OutlinePart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a message: `size` in characters (of an image, bytes), `call` the call it belongs to."""

    kind: Literal["text", "image", "thinking", "call", "result"]
    size: int
    call: str = ""


class Outline(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message by its position. `open_calls` are its calls without a result, or with a provisional one."""

    index: int
    role: Role
    pieces: tuple[OutlinePart, ...]
    open_calls: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    @property
    def calls(self) -> tuple[str, ...]:
        """Return the ids of its calls and results."""
        return tuple(piece.call for piece in self.pieces if piece.call)


def outline(messages: Sequence[tuple[Role, ConversationMessage]], unsettled: AbstractSet[str]) -> tuple[Outline, ...]:
    """Return the outline of each message; `unsettled` are calls whose outcome is unknown, whatever result they have."""
    answered = {piece.call for _, message in messages for piece in _pieces(message) if piece.kind == "result"}
    settled = answered - unsettled
    rows: list[Outline] = []
    for index, (role, message) in enumerate(messages):
        pieces = tuple(_pieces(message))
        calls = (piece.call for piece in pieces if piece.kind == "call")
        rows.append(Outline(index, role, pieces, tuple(call for call in calls if call not in settled)))
    return tuple(rows)


def _pieces(message: ConversationMessage) -> Iterator[OutlinePart]:
    if isinstance(message, UserMessage):
        yield from (OutlinePart("result", len(result.text), result.call) for result in message.results)
        for item in message.content:
            yield OutlinePart("text", len(item)) if isinstance(item, str) else OutlinePart("image", len(item.data))
        return
    for part in message.parts:
        match part:
            case TextPart(text=text):
                yield OutlinePart("text", len(text))
            case ThinkingPart(text=text):
                yield OutlinePart("thinking", len(text))
            case CallPart():
                yield OutlinePart("call", len(part.arguments), part.id)
