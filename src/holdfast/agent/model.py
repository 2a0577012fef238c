"""What a model is to the driver: a request in our words in, stream events in our words out.

The driver never sees a provider's library; `holdfast.agent.models` is the first implementation behind this protocol.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Literal, Protocol

from holdfast.session.conversation import Conversation
from holdfast.session.entries import Part, Usage

Finish = Literal["stop", "calls", "max_tokens", "refusal"]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """More of a call: `index` is its part in the response; `name` comes once, `arguments` in pieces."""

    index: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's terminal event was seen: the whole response. Call ids are the provider's (`CallPart.wire_id`)."""

    parts: tuple[Part, ...]
    finish: Finish
    usage: Usage


StreamEvent = TextDelta | ThinkingDelta | CallDelta | Finished


class Model(Protocol):
    """A connection to one model.

    Laws (`tests/agent/test_models_laws.py`): events arrive as the wire gives them; `Finished` comes at most once, last,
    and only if the provider's own terminal event was seen; every other ending raises `ProviderFailed`; cancelling
    the consumer closes the connection of that request; the model itself never retries. A `whole` answer is asked for
    with the same request but for its words about streaming, and gives the same events, all of them at its end.
    """

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL, as the session names it."""
        ...

    def stream(
        self, conversation: Conversation, *, whole: bool = False
    ) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Send the conversation, as `session.outgoing` gives it, and yield its events; raises `ProviderFailed`.

        With `whole`, the answer is asked for in one piece.
        """
        ...

    async def aclose(self) -> None:
        """Close every connection; the model cannot be used afterwards."""
        ...
