"""What a protocol module provides: the model factory, and facts about the protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic_ai.models import Model as PydanticModel

from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import Conversation

ModelFor = Callable[[Conversation], PydanticModel[Any]]
"""Return the model for a conversation; some protocols need to see earlier messages."""

NO_KEY = "none"
"""The key for an SDK whose server needs none, so that it does not look for one; it is not sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SdkProtocol:
    """One protocol.

    `build` returns the model factory; it may block, and raises pydantic-ai's `UserError` for an unusable target.
    `terminal` matches the first line of a stream's last event, without its line end, within 30 bytes; None if the
    protocol has none. `has_finish_reason` then returns whether an event has the finish reason. `marks_errors`: a result
    can be marked as an error.
    """

    build: Callable[[ModelEndpoint, httpx2.AsyncClient], ModelFor]
    terminal: bytes | None
    marks_errors: bool
    has_finish_reason: Callable[[bytes], bool] | None = None
