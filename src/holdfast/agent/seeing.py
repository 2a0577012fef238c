"""Whether a request was refused for the images in it: no list says which models can see, so their servers' words do."""

from __future__ import annotations

import re
from http import HTTPStatus

from holdfast.calls import Image
from holdfast.errors import ProviderFailed
from holdfast.session.conversation import Conversation, UserMessage

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


def refuses_images(failed: ProviderFailed, sent: Conversation) -> bool:
    """Return whether what was `sent` holds images, and the answer to it names them or their shape."""
    if failed.status not in _REFUSALS or failed.fault == "too_long" or not _has_images(sent):
        return False
    said = str(failed).replace(sent.model, "")  # a name may have the words in it
    return _WORDS.search(said) is not None


def _has_images(sent: Conversation) -> bool:
    said = (one for message in sent.messages if isinstance(message, UserMessage) for one in message.said)
    return any(isinstance(one, Image) for one in said)
