"""The queue of messages sent during a turn: when each is delivered, decided from the conversation alone. Pure.

A message that the user took back is never sent. A message on hold (`QueuedMessage.on_hold`) is not sent by itself.
"""

from __future__ import annotations

from holdfast.errors import UsageError
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import PromptAccepted, Queued, Recalled, Steered, When
from holdfast.text import valid_unicode
from holdfast.tool_calls import Image


def queue_entry(text: str, when: When, *, message_id: str, images: tuple[Image, ...] = (), typed: str = "") -> Queued:
    """Return the entry of a queued message; raises `UsageError` if it is blank. `typed` is what it was made of."""
    if not text.strip():
        raise UsageError("Message is empty. Say what you want done.")
    text, typed = valid_unicode(text), valid_unicode(typed)
    return Queued(id=message_id, text=text, when=when, images=images, typed="" if typed == text else typed)


def recall_entry(conversation: Conversation, message: str) -> tuple[Recalled, str]:
    """Return the entry that takes the message back, and what was typed; raises `UsageError` if it is not queued."""
    for waiting in conversation.queued:
        if waiting.message.id == message:
            return Recalled(queued=message), waiting.message.typed or waiting.message.text
    raise UsageError(f"Message {message!r} is no longer queued: it was sent or recalled before. Nothing was changed.")


def steer_entries(conversation: Conversation) -> tuple[Steered, ...]:
    """Return entries for the messages that join the next request of the running turn."""
    messages = [waiting.message for waiting in conversation.queued if not waiting.on_hold]
    return tuple(
        Steered(queued=each.id, text=each.text, images=each.images, typed=each.typed)
        for each in messages
        if each.when == "steer"
    )


def next_prompt(conversation: Conversation) -> PromptAccepted | None:
    """Return the prompt of the next turn, None if no message waits for the last one to end."""
    if conversation.open_turn is not None:  # its end could not be journalled
        return None
    for waiting in conversation.queued:
        if not waiting.on_hold:
            message = waiting.message
            return PromptAccepted(
                turn=conversation.turns + 1,
                text=message.text,
                queued=message.id,
                images=message.images,
                typed=message.typed,
            )
    return None
