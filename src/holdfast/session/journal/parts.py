"""The parts of a response and its token usage: values inside entries."""

from __future__ import annotations

import msgspec


class TextPart(msgspec.Struct, frozen=True, tag="text", tag_field="part"):
    """Text the model wrote for the user."""

    text: str


class ThinkingPart(msgspec.Struct, frozen=True, tag="thinking", tag_field="part", omit_defaults=True):
    """The model's thinking, with the data its provider needs to accept it again."""

    text: str
    signature: str | None = None
    id: str | None = None
    provider: str | None = None
    details: dict[str, object] | None = None


REQUIRED_THINKING = ThinkingPart("", id="reasoning_content", details={"required": True})
"""What a request has where a provider requires thinking before calls and the model had none; the ID is Chat's field."""


class CallPart(msgspec.Struct, frozen=True, tag="call", tag_field="part", omit_defaults=True):
    """A tool call: `id` is holdfast's and unique in the session, `arguments` the raw string the model wrote."""

    id: str
    name: str
    arguments: str
    wire_id: str | None = None
    item_id: str | None = None
    provider: str | None = None
    details: dict[str, object] | None = None


class AnswerRefusal(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a model or its filter refused to answer, in the provider's words: both "" if it does not say.

    `category` is the provider's own, such as `cyber` or `HARM_CATEGORY_HARASSMENT`.
    """

    category: str = ""
    explanation: str = ""

    @property
    def text(self) -> str:
        """Return both as one text, "" if there is none."""
        return ": ".join(each for each in (self.category, self.explanation) if each)


class RequestPrefix(msgspec.Struct, frozen=True):
    """The part of a request's body that a provider can cache: all but what only the last message has.

    `head` is the digest of the fields other than the messages (model, system prompt, tools, settings), as 16
    hexadecimal digits. `messages` are the provider's messages, `bytes` their size with head, and `digest` is of their
    bytes, as 32 digits. Both are BLAKE2b.
    """

    head: str
    messages: int
    bytes: int
    digest: str


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one request as the provider counted them; `cost` in US dollars as a decimal string, None if unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: str | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; the cost is unknown if either is."""
        from decimal import Decimal  # 4 ms at import, needed only when costs are added

        known = self.cost is not None and other.cost is not None
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost=str(Decimal(self.cost or "0") + Decimal(other.cost or "0")) if known else None,
        )
