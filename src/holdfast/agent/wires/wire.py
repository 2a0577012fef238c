"""What a wire is: how its model is made, and what the rest of us must know of its protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic_ai.models import Model as PydanticModel

from holdfast.agent.providers import Target
from holdfast.session.conversation import Conversation

ModelFor = Callable[[Conversation], PydanticModel[Any]]
"""The model for a conversation; some are told what came before."""

NO_KEY = "none"
"""What an SDK is given where no key is wanted, so that it looks for none of its own; it is not sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """One way to speak to a provider.

    `build` makes what makes the model; it may block, and raises pydantic-ai's `UserError` for what cannot be used.
    `terminal` matches the line that begins the last event of a stream, without its ends and in 30 bytes at most; None
    if there is none. `tells` is then given each event, and returns whether it tells why the response ends.
    `marks_errors` tells whether a result can be marked as an error.
    """

    build: Callable[[Target, httpx2.AsyncClient], ModelFor]
    terminal: bytes | None
    marks_errors: bool
    tells: Callable[[bytes], bool] | None = None
