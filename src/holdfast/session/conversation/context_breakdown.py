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
KIND_FACTS = "folder and instructions"
KIND_USER_TEXTS = "your messages"
KIND_SUMMARIES = "summary of older messages"
KIND_ANSWERS = "answers"
KIND_THINKING = "thinking"
KIND_CALLS = "tool calls"
KIND_IMAGES = "images"
KIND_OVERHEAD = "message overhead"
KIND_RESULTS = "results of "
"""The beginning of the kind of a result; the name of its tool follows."""


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
    """Return the tokens by kind if the conversation is sent to its model now, with the `most` largest results.

    Laws (`tests/session/conversation/test_context_breakdown_laws.py`): the kinds add up to what `estimate` and
    `overhead_tokens` count together; none is negative.
    """
    totals: Counter[str] = Counter()
    if (opened := conversation.opened) is not None:
        totals[KIND_SYSTEM] = tokens_of(opened.system)
        totals[KIND_TOOLS] = sum(CALL + tokens_of(msgspec.json.encode(tool).decode()) for tool in opened.tools)
        totals[KIND_FACTS] = tokens_of(opened.facts)
    arguments_of: dict[str, str] = {}
    results: list[LargeResult] = []
    note = conversation.compacted.note if conversation.compacted is not None else None
    for message in conversation.messages:
        totals[KIND_OVERHEAD] += MESSAGE
        match message:
            case c.UserMessage():
                results += _user(message, totals, arguments_of, note)
            case c.AssistantMessage():
                arguments_of |= _assistant(message, conversation.model, totals)
    results.sort(key=lambda each: -each.tokens)
    return ContextBreakdown(tuple((kind, tokens) for kind, tokens in totals.items() if tokens), tuple(results[:most]))


def _user(
    message: c.UserMessage, totals: Counter[str], arguments_of: dict[str, str], note: str | None
) -> list[LargeResult]:
    results: list[LargeResult] = []
    for result in message.results:
        tokens = CALL + tokens_of(result.text)
        totals[KIND_RESULTS + result.name] += tokens
        results.append(LargeResult(result.name, arguments_of.get(result.call, ""), tokens))
    for text in message.texts:
        totals[KIND_SUMMARIES if text == note else KIND_USER_TEXTS] += tokens_of(text)
    totals[KIND_IMAGES] += sum(tokens_of_image(image.width, image.height) for image in message.images)
    return results


def _assistant(message: c.AssistantMessage, model: str, totals: Counter[str]) -> dict[str, str]:
    """Count a response. Return the arguments of its calls."""
    for part in message.parts:
        match part:
            case TextPart(text=text):
                totals[KIND_ANSWERS] += tokens_of(text)
            case CallPart(name=name, arguments=arguments):
                totals[KIND_CALLS] += CALL + tokens_of(name) + tokens_of(arguments)
            case ThinkingPart() if message.model == model:  # another model's thinking is not sent
                totals[KIND_THINKING] += max(tokens_of(part.text), tokens_of(part.signature or ""))
            case ThinkingPart():
                pass
    return {call.id: call.arguments for call in message.calls}
