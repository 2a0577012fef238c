"""Decides whether a request was rejected because of its images.

No list of models that take images exists, so the server's error text decides, by the table of refusals. An error that
may mean one bad image drops the newest images first. Only if that does not help, the model is assumed to take none.
"""

from __future__ import annotations

from holdfast.agent.turn.refusals import refusal_of
from holdfast.errors import ProviderFailed
from holdfast.session.conversation.conversation import Conversation, ConversationMessage, UserMessage
from holdfast.session.journal.entries import BAD_IMAGES, NO_IMAGES
from holdfast.tool_calls import Image


def image_refusal(failed: ProviderFailed, sent: Conversation) -> str | None:
    """Return which fault the images had if the request was rejected for them, None for any other reason.

    A bad image must be in the last message: earlier ones were accepted or left out before.
    """
    row = refusal_of(failed, sent)
    if row is None or row.recovery not in (NO_IMAGES, BAD_IMAGES) or not any(map(_has_images, sent.messages)):
        return None
    return BAD_IMAGES if row.recovery == BAD_IMAGES and _has_images(sent.messages[-1]) else NO_IMAGES


def _has_images(message: ConversationMessage) -> bool:
    return isinstance(message, UserMessage) and any(isinstance(one, Image) for one in message.content)
