"""Decides whether a request was rejected because of its images.

No list of models that take images exists, so the server's error text decides. An error that may mean one bad image
drops the newest images first. Only if that does not help, the model is assumed to take none.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from holdfast.errors import ProviderFailed
from holdfast.session.conversation.conversation import Conversation, ConversationMessage, UserMessage
from holdfast.session.journal.entries import BAD_IMAGES, NO_IMAGES
from holdfast.tool_calls import Image

_REFUSALS = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.NOT_FOUND,  # OpenRouter: no endpoint found that supports image input
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.INTERNAL_SERVER_ERROR,  # llama.cpp
        HTTPStatus.NOT_IMPLEMENTED,
    }
)
_WORDS = re.compile(
    r"image|\bvision|multi-?modal|content[ _-]?(?:part[ _-]?)?type|(?:expected|be) a (?:valid )?string", re.IGNORECASE
)


_BAD = re.compile(
    r"(?:process|decode|load|read|identify)[^.]{0,20} image\b"  # Anthropic, Google, llama.cpp, vLLM
    r"|\b(?:invalid|unsupported|corrupt(?:ed)?|broken|bad|valid|many) image(?:s\b|\b(?! input))"  # OpenAI
    r"|\bimage\b[^.]{0,60}(?:exceed|too (?:large|big|small|long)|not valid|corrupt|does not match)",
    re.IGNORECASE,
)
"""Said of a single image, not of images in general."""


def image_refusal(failed: ProviderFailed, sent: Conversation) -> str | None:
    """Return which fault the images had if the request was rejected for them, None for any other reason.

    A bad image must be in the last message: earlier ones were accepted or left out before.
    """
    if failed.status not in _REFUSALS or failed.fault == "too_long" or not any(map(_has_images, sent.messages)):
        return None
    message = str(failed).replace(sent.model, "")  # a model's name may contain these words
    if _BAD.search(message) and _has_images(sent.messages[-1]):
        return BAD_IMAGES
    return NO_IMAGES if _WORDS.search(message) else None


def _has_images(message: ConversationMessage) -> bool:
    return isinstance(message, UserMessage) and any(isinstance(one, Image) for one in message.content)
