"""Notes on settings that a model does not get as the user set them."""

from __future__ import annotations

from holdfast.errors import ModelUnusable
from holdfast.providers.registry import ModelEndpoint, Providers, split
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.model_settings import NO_SETTINGS


def setting_notes(conversation: Conversation, providers: Providers) -> tuple[str, ...]:
    """Return a sentence for each setting that is not sent to the conversation's model, or not as it was set."""
    if conversation.settings == NO_SETTINGS:
        return ()
    try:
        provider, model = split(conversation.model, providers)
    except ModelUnusable:  # a model of the embedding program
        return ()
    if provider.through_pydantic_ai:
        return (f"{conversation.model} gets no settings: none is sent through pydantic-ai.",)
    from holdfast.providers.protocols import protocol_of

    target = ModelEndpoint(provider, model, key=None, address=None)
    return protocol_of(provider.kind).settings(target, conversation).notes
