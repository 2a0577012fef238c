"""OpenAI Chat Completions, for OpenAI and compatible servers, over OpenAI's SDK."""

from __future__ import annotations

from typing import Any

import httpx2
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionAssistantMessageParam
from pydantic_ai.models import Model as PydanticModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import NO_KEY, ModelFor, SdkProtocol
from holdfast.providers.registry import ModelEndpoint
from holdfast.session.conversation.conversation import AssistantMessage, Conversation
from holdfast.session.journal.parts import ThinkingPart

_REASONING_FIELDS = frozenset({"reasoning", "reasoning_content"})
"""Fields in which Chat servers send reasoning; pydantic-ai stores the field name as the ID of the thinking part."""


_SETTINGS = OpenAIChatModelSettings(openai_continuous_usage_stats=True)
"""The last usage of a stream counts: many servers send a running total with each chunk."""


class _Counted(OpenAIChatModel):
    """A model that requests usage in OpenAI's own way only, and accepts repeated usage."""

    def _get_stream_options(self, model_settings: object) -> Any:  # noqa: ANN401 - its hook for subclasses
        del model_settings
        return {"include_usage": True}


class Foreign(_Counted):
    """A model of a service other than OpenAI."""

    class _MapModelResponseContext(OpenAIChatModel._MapModelResponseContext):  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - its hook for subclasses
        def _into_message_param(self) -> ChatCompletionAssistantMessageParam | None:
            message = super()._into_message_param()
            if message is not None and message.get("content") is None:
                message["content"] = ""  # many servers refuse null next to calls
            return message


def build_model(target: ModelEndpoint, http: httpx2.AsyncClient, *, foreign: type[Foreign] = Foreign) -> ModelFor:
    """Return the model factory; it uses `foreign` if the target is not an OpenAI model."""
    key, address, name = target.key or NO_KEY, target.address, target.provider.name
    client = AsyncOpenAI(api_key=key, base_url=address, http_client=http, max_retries=0)
    # Prices are looked up by provider name: a local model does not cost what its namesake costs.
    if target.provider.foreign:
        kind, provider = foreign, OpenAICompatibleProvider(name, openai_client=client)
    else:
        kind, provider = _Counted, OpenAIProvider(openai_client=client)

    # The first call loads what the SDK deferred, which must not happen on the event loop.
    usual = kind(target.model, provider=provider, profile=OpenAIModelProfile(), settings=_SETTINGS)

    def model_for(conversation: Conversation) -> PydanticModel[Any]:
        # If it had to find the field itself, it would add it to earlier calls of a turn and remove it afterwards.
        field = _reasoning_field(conversation)
        if field is None:
            return usual
        profile = OpenAIModelProfile(openai_chat_thinking_field=field, openai_chat_send_back_thinking_parts="field")
        return kind(target.model, provider=provider, profile=profile, settings=_SETTINGS)

    return model_for


def _reasoning_field(conversation: Conversation) -> str | None:
    """Return the field in which the model's reasoning first arrived, None if in none."""
    own = (m for m in conversation.messages if isinstance(m, AssistantMessage) and m.model == conversation.model)
    thoughts = (part for message in own for part in message.parts if isinstance(part, ThinkingPart))
    return next((part.id for part in thoughts if part.id in _REASONING_FIELDS), None)  # an imported ID may be anything


WIRE = SdkProtocol(build=build_model, terminal=rb"data: ?\[DONE\]", marks_errors=False)
