"""What the tokens of a conversation are spent on, by kind, and its largest results. Pure."""

from __future__ import annotations

from collections import Counter

import msgspec

from holdfast.history.tokens import tokens_of, tokens_of_image
from holdfast.session.conversation import conversation as c
from holdfast.session.conversation.token_estimate import CALL, MESSAGE
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart

KIND_SYSTEM = "system prompt"
KIND_TOOLS = "tool descriptions"
KIND_SAID = "your messages"
KIND_SUMMARIES = "summary of older messages"
KIND_ANSWERS = "answers"
KIND_THINKING = "thinking"
KIND_CALLS = "tool calls"
KIND_IMAGES = "images"
KIND_AROUND = "message overhead"
KIND_RESULTS = "results of "
"""What the kind of a result begins with; the name of its tool follows."""


class LargeResult(msgspec.Struct, frozen=True):
    """A result that is sent with each request: its tool, the arguments as the model wrote them, its tokens."""

    name: str
    arguments: str
    tokens: int


class ContextBreakdown(msgspec.Struct, frozen=True):
    """Approximate tokens by kind, in the order in which they are sent, and the `largest` results, largest first."""

    kinds: tuple[tuple[str, int], ...]
    largest: tuple[LargeResult, ...]

    @property
    def total(self) -> int:
        return sum(tokens for _, tokens in self.kinds)


def context_breakdown(conversation: c.Conversation, *, most: int = 8) -> ContextBreakdown:
    """Return what the conversation's tokens are spent on, if it is sent to its model now; `most` results are listed.

    Laws (`tests/session/conversation/test_context_breakdown_laws.py`): the kinds add up to what `estimate` and
    `overhead_tokens` count together; none is negative.
    """
    found: Counter[str] = Counter()
    if (opened := conversation.opened) is not None:
        found[KIND_SYSTEM] = tokens_of(opened.system)
        found[KIND_TOOLS] = sum(CALL + tokens_of(msgspec.json.encode(tool).decode()) for tool in opened.tools)
    written: dict[str, str] = {}
    results: list[LargeResult] = []
    note = conversation.compacted.note if conversation.compacted is not None else None
    for message in conversation.messages:
        found[KIND_AROUND] += MESSAGE
        match message:
            case c.UserMessage():
                results += _user(message, found, written, note)
            case c.AssistantMessage():
                written |= _assistant(message, conversation.model, found)
    results.sort(key=lambda each: -each.tokens)
    return ContextBreakdown(tuple((kind, tokens) for kind, tokens in found.items() if tokens), tuple(results[:most]))


def _user(message: c.UserMessage, found: Counter[str], written: dict[str, str], note: str | None) -> list[LargeResult]:
    results: list[LargeResult] = []
    for result in message.results:
        tokens = CALL + tokens_of(result.text)
        found[KIND_RESULTS + result.name] += tokens
        results.append(LargeResult(result.name, written.get(result.call, ""), tokens))
    for one in message.said:
        if isinstance(one, str):
            found[KIND_SUMMARIES if one == note else KIND_SAID] += tokens_of(one)
    found[KIND_IMAGES] += sum(tokens_of_image(image.width, image.height) for image in message.images)
    return results


def _assistant(message: c.AssistantMessage, model: str, found: Counter[str]) -> dict[str, str]:
    """Count a response. Return the arguments of its calls."""
    for part in message.parts:
        match part:
            case TextPart(text=text):
                found[KIND_ANSWERS] += tokens_of(text)
            case CallPart(name=name, arguments=arguments):
                found[KIND_CALLS] += CALL + tokens_of(name) + tokens_of(arguments)
            case ThinkingPart() if message.model == model:  # another model's thinking is not sent
                found[KIND_THINKING] += max(tokens_of(part.text), tokens_of(part.signature or ""))
            case ThinkingPart():
                pass
    return {call.id: call.arguments for call in message.calls}
