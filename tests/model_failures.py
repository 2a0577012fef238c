"""How a model fails a conversation."""

from __future__ import annotations

from holdfast.errors import ProviderFailed
from holdfast.providers.model import Model
from holdfast.session.conversation.conversation import Conversation


async def failure_of(model: Model, conversation: Conversation, *, non_streaming: bool = False) -> ProviderFailed:
    """Return what the model raises for the conversation, and close the model."""
    try:
        async with model.stream(conversation, non_streaming=non_streaming) as events:
            async for _ in events:
                pass
    except ProviderFailed as failed:
        return failed
    finally:
        await model.aclose()
    raise AssertionError("it answered")
