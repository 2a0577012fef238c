"""How many tokens a conversation is: as the provider counted it, and an estimate of whatever it has not counted.

Two rules. All that is sent counts: system prompt, tools, arguments, results, texts, thinking that goes back. Linear, by
lengths alone: it is asked before every request and after every fact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import msgspec

from holdfast.history.tokens import tokens_of, tokens_of_image
from holdfast.session.conversation import AssistantMessage, Conversation, Counted, Message, Result, UserMessage
from holdfast.session.entries import CallPart, SessionOpened, TextPart, ThinkingPart

MESSAGE = 4
"""Tokens of a message beside what it says."""
CALL = 16
"""Tokens of a call, or of a result, beside its name and its text: an id, and what it is wrapped in."""
GROWING = 2
"""Messages at the end of a conversation that may yet change: the last answer, and what is said after it."""


def context_tokens(conversation: Conversation) -> int:
    """Return about how many tokens the conversation is if it is sent to its model now.

    What the provider counted is taken as counted, as long as it is its model that would be asked.

    Laws (`tests/session/test_estimate_laws.py`): never negative; what is added adds at least its own estimate;
    where a provider counts as we do, it is the estimate after every entry.
    """
    model, messages, counted = conversation.model, conversation.messages, conversation.counted
    if counted is None or counted.model != model:
        return beside(conversation.opened) + estimate(messages, model)
    return counted.tokens + estimate(messages, model, since=counted.messages)


class Tally:
    """The same count of a conversation as it grows, which looks again only at what may have grown since.

    After a journalled decision that changes what was said before, or who is asked, another is needed.

    Laws (`tests/session/test_estimate_laws.py`): it counts what `context_tokens` counts.
    """

    def __init__(self) -> None:
        self._messages = 0  # that are counted for good: all but the last two
        self._tokens = 0

    def tokens(self, conversation: Conversation) -> int:
        """Return about how many tokens the conversation is if it is sent to its model now."""
        model, messages, counted = conversation.model, conversation.messages, conversation.counted
        if counted is not None and counted.model == model:
            return context_tokens(conversation)
        closed = max(len(messages) - GROWING, self._messages)
        self._tokens += estimate(messages[self._messages : closed], model)
        self._messages = closed
        return beside(conversation.opened) + self._tokens + estimate(messages[closed:], model)


def estimate(messages: Sequence[Message], model: str, *, since: int = 0) -> int:
    """Return about how many tokens the messages are that `model` is sent, from index `since` on."""
    total = 0
    for message in islice(messages, since, None):
        total += MESSAGE
        match message:
            case UserMessage(results=results, said=said):
                for result in results:
                    total += CALL + of_result(result)
                for one in said:
                    total += tokens_of(one) if isinstance(one, str) else tokens_of_image(one.width, one.height)
            case AssistantMessage(parts=parts):
                for part in parts:
                    match part:
                        case TextPart(text=text):
                            total += tokens_of(text)
                        case CallPart(name=name, arguments=arguments):
                            total += CALL + tokens_of(name) + tokens_of(arguments)
                        case ThinkingPart() if message.model == model:  # another's does not go back
                            total += max(tokens_of(part.text), tokens_of(part.signature or ""))
                        case ThinkingPart():
                            pass
    return total


def of_result(result: Result) -> int:
    """Return about how many tokens a result says, with what it shows."""
    shown = sum(tokens_of_image(image.width, image.height) for image in result.images) if result.images else 0
    return tokens_of(result.text) + shown


def beside(opened: SessionOpened | None) -> int:
    """Return about how many tokens go with every request beside the messages: the system prompt and the tools."""
    if opened is None:
        return 0
    tools = sum(CALL + tokens_of(msgspec.json.encode(tool).decode()) for tool in opened.tools)
    return tokens_of(opened.system) + tools


def recounted(
    counted: Counted | None, opened: SessionOpened | None, before: Sequence[Message], after: Sequence[Message]
) -> Counted | None:
    """Return what the provider would have counted of the messages as they are `after` a decision changed them.

    It counts other tokens than an estimate does: what is left is taken for the same share of what it counted.
    """
    return None if counted is None else shortened(counted, opened, before, after[: counted.messages])


def shortened(
    counted: Counted | None, opened: SessionOpened | None, before: Sequence[Message], after: Sequence[Message]
) -> Counted | None:
    """Return what the provider would have counted of the messages `after`, which what was counted is part of no more.

    The share of what it counted is as for `recounted`.
    """
    if counted is None:
        return None
    fixed = beside(opened)
    was = fixed + estimate(before[: counted.messages], counted.model)
    now = fixed + estimate(after, counted.model)
    return replace(counted, messages=len(after), tokens=counted.tokens * now // max(was, 1))
