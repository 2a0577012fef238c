"""Messages given while a turn runs: when each is sent, decided from the conversation alone. Pure.

Two rules. What a person took back is never sent. What is held (`Waiting`) is not sent by itself.
"""

from __future__ import annotations

from holdfast.calls import Image
from holdfast.errors import UsageError
from holdfast.session.conversation import Conversation
from holdfast.session.entries import PromptAccepted, Queued, Recalled, Steered, When
from holdfast.text import valid_unicode


def queued(text: str, when: When, *, own: str, images: tuple[Image, ...] = ()) -> Queued:
    """Return the message, whose id is `own`; raises `UsageError` if it is blank."""
    if not text.strip():
        raise UsageError("Message is blank, some words were expected. Say what you want done.")
    return Queued(id=own, text=valid_unicode(text), when=when, images=images)


def recalled(conversation: Conversation, message: str) -> tuple[Recalled, str]:
    """Return what takes the message back, and its words; raises `UsageError` if it waits no more."""
    for waiting in conversation.queued:
        if waiting.message.id == message:
            return Recalled(queued=message), waiting.message.text
    raise UsageError(
        f"Message {message!r} does not wait, one that is queued was expected. It was sent or taken back before."
    )


def steering(conversation: Conversation) -> tuple[Steered, ...]:
    """Return what joins the next request of the turn that runs."""
    messages = [waiting.message for waiting in conversation.queued if not waiting.held]
    return tuple(
        Steered(queued=each.id, text=each.text, images=each.images) for each in messages if each.when == "steer"
    )


def following(conversation: Conversation) -> PromptAccepted | None:
    """Return the prompt of the turn that follows the one that ended, None if no message waits for it."""
    if conversation.open_turn is not None:  # its end could not be journalled
        return None
    for waiting in conversation.queued:
        if not waiting.held:
            message = waiting.message
            return PromptAccepted(
                turn=conversation.turns + 1, text=message.text, queued=message.id, images=message.images
            )
    return None
