"""The messages that a model would see, as sizes and ids: for whoever asks what is sent without reading all of it. Pure.

Nothing of what was said is in an outline.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

import msgspec

from holdfast.history.shape import Role
from holdfast.session.conversation import Message, UserMessage
from holdfast.session.entries import CallPart, TextPart, ThinkingPart


class Piece(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a message: `size` in characters (of an image, bytes), `call` the id it belongs to."""

    kind: Literal["text", "image", "thinking", "call", "result"]
    size: int
    call: str = ""


class Outline(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message by its place in the request; `open_calls` are its calls without a result, or with a stand-in for it."""

    index: int
    role: Role
    pieces: tuple[Piece, ...]
    open_calls: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return the characters of all its parts."""
        return sum(piece.size for piece in self.pieces)

    @property
    def calls(self) -> tuple[str, ...]:
        """Return the ids in it, of calls and of results."""
        return tuple(piece.call for piece in self.pieces if piece.call)


def outline(messages: Sequence[tuple[Role, Message]], unsettled: AbstractSet[str]) -> tuple[Outline, ...]:
    """Return the outline of each message; `unsettled` are calls whose outcome is not known, whatever answers them."""
    answered = {piece.call for _, message in messages for piece in _pieces(message) if piece.kind == "result"}
    settled = answered - unsettled
    rows: list[Outline] = []
    for index, (role, message) in enumerate(messages):
        pieces = tuple(_pieces(message))
        calls = (piece.call for piece in pieces if piece.kind == "call")
        rows.append(Outline(index, role, pieces, tuple(call for call in calls if call not in settled)))
    return tuple(rows)


def _pieces(message: Message) -> Iterator[Piece]:
    if isinstance(message, UserMessage):
        yield from (Piece("result", len(result.text), result.call) for result in message.results)
        for said in message.said:
            yield Piece("text", len(said)) if isinstance(said, str) else Piece("image", len(said.data))
        return
    for part in message.parts:
        match part:
            case TextPart(text=text):
                yield Piece("text", len(text))
            case ThinkingPart(text=text):
                yield Piece("thinking", len(text))
            case CallPart():
                yield Piece("call", len(part.arguments), part.id)
