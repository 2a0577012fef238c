"""The size of a conversation in tokens: the provider's count, plus an estimate of what came after it.

Everything that is sent counts: system prompt, tools, arguments, results, texts, replayed thinking. The cost is linear
in the number of parts, because it runs before every request and after every entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import msgspec

from holdfast.history.tokens import tokens_of, tokens_of_image
from holdfast.session.conversation import conversation as c
from holdfast.session.journal.entries import SessionOpened
from holdfast.session.journal.parts import CallPart, TextPart, ThinkingPart

MESSAGE = 4
"""Tokens of a message in addition to its content."""
CALL = 16
"""Tokens of a call or a result in addition to its name and text: an id and JSON punctuation."""
GROWING = 2
"""Messages at the end of a conversation that may still change: the last response, and the user content after it."""


def context_tokens(conversation: c.Conversation) -> int:
    """Return the approximate number of tokens of the conversation if it is sent to its model now.

    The provider's own count is used where it is for the current model.

    Laws (`tests/session/conversation/test_token_estimate_laws.py`): never negative; an added message adds at least its
    own estimate; where a provider counts as holdfast does, the result is the estimate after every entry.
    """
    model, messages, counted = conversation.model, conversation.messages, conversation.counted
    if counted is None or counted.model != model:
        return overhead_tokens(conversation.opened) + estimate(messages, model)
    return counted.tokens + estimate(messages, model, since=counted.messages)


class Tally:
    """The same count for a growing conversation. It looks only at messages that may have changed.

    After an entry that changes earlier messages or the model, a new `Tally` is needed.

    Laws (`tests/session/conversation/test_token_estimate_laws.py`): it counts what `context_tokens` counts.
    """

    def __init__(self) -> None:
        self._messages = 0  # whose count is final: all but the last two
        self._tokens = 0

    def tokens(self, conversation: c.Conversation) -> int:
        """Return the approximate number of tokens of the conversation if it is sent to its model now."""
        model, messages, counted = conversation.model, conversation.messages, conversation.counted
        if counted is not None and counted.model == model:
            return context_tokens(conversation)
        closed = max(len(messages) - GROWING, self._messages)
        self._tokens += estimate(messages[self._messages : closed], model)
        self._messages = closed
        return overhead_tokens(conversation.opened) + self._tokens + estimate(messages[closed:], model)


def estimate(messages: Sequence[c.ConversationMessage], model: str, *, since: int = 0) -> int:
    """Return the approximate number of tokens of the messages sent to `model`, from index `since` on."""
    total = 0
    for message in islice(messages, since, None):
        total += MESSAGE
        match message:
            case c.UserMessage(results=results, content=content):
                for result in results:
                    total += CALL + of_result(result)
                for item in content:
                    total += tokens_of(item) if isinstance(item, str) else tokens_of_image(item.width, item.height)
            case c.AssistantMessage(parts=parts):
                for part in parts:
                    match part:
                        case TextPart(text=text):
                            total += tokens_of(text)
                        case CallPart(name=name, arguments=arguments):
                            total += CALL + tokens_of(name) + tokens_of(arguments)
                        case ThinkingPart() if message.model == model:  # another model's thinking is not sent
                            total += max(tokens_of(part.text), tokens_of(part.signature or ""))
                        case ThinkingPart():
                            pass
    return total


def of_result(result: c.Result) -> int:
    """Return the approximate number of tokens of a result with its images."""
    images = sum(tokens_of_image(image.width, image.height) for image in result.images) if result.images else 0
    return tokens_of(result.text) + images


def overhead_tokens(opened: SessionOpened | None) -> int:
    """Return the approximate number of tokens of the system prompt, the tools and the facts."""
    if opened is None:
        return 0
    tools = sum(CALL + tokens_of(msgspec.json.encode(tool).decode()) for tool in opened.tools)
    return tokens_of(opened.system) + tools + tokens_of(opened.facts)


def recounted(
    counted: c.Counted | None,
    opened: SessionOpened | None,
    before: Sequence[c.ConversationMessage],
    after: Sequence[c.ConversationMessage],
) -> c.Counted | None:
    """Return the provider's count of `before`, adjusted to the counted messages that are left after a decision.

    Providers count differently from the estimate, so their count is scaled by the estimated ratio.
    """
    if counted is None:
        return None
    fixed = overhead_tokens(opened)
    estimate_before = fixed + estimate(before[: counted.messages], counted.model)
    estimate_after = fixed + estimate(after, counted.model)
    return msgspec.structs.replace(
        counted, messages=len(after), tokens=counted.tokens * estimate_after // max(estimate_before, 1)
    )
