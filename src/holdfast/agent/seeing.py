"""Whether a request was refused for the images in it: no list says which models can see, so their servers' words do.

One rule: words that may mean a bad image cost the newest images first; only if that does not help the model is blind.
"""

from __future__ import annotations

import re
from http import HTTPStatus

from holdfast.calls import Image
from holdfast.errors import ProviderFailed
from holdfast.session.conversation import Conversation, Message, UserMessage
from holdfast.session.entries import BAD_IMAGES, NO_IMAGES

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
"""What is said of one image, not of images."""


def refusal(failed: ProviderFailed, sent: Conversation) -> str | None:
    """Return the fault of a request that was refused for images in what was `sent`, None for what is another matter.

    Where it is an image's own fault, that is one of the last message: those before were accepted, or refused then.
    """
    if failed.status not in _REFUSALS or failed.fault == "too_long" or not any(map(_has_images, sent.messages)):
        return None
    said = str(failed).replace(sent.model, "")  # a name may have the words in it
    if _BAD.search(said) and _has_images(sent.messages[-1]):
        return BAD_IMAGES
    return NO_IMAGES if _WORDS.search(said) else None


def _has_images(message: Message) -> bool:
    return isinstance(message, UserMessage) and any(isinstance(one, Image) for one in message.said)
