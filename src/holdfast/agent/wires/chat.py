"""OpenAI Chat Completions, as OpenAI and as everybody else speaks it, over OpenAI's SDK."""

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

from holdfast.agent.providers import Target
from holdfast.agent.wires.wire import NO_KEY, ModelFor, Wire
from holdfast.session.conversation import AssistantMessage, Conversation
from holdfast.session.parts import ThinkingPart

_REASONING_FIELDS = frozenset({"reasoning", "reasoning_content"})
"""Where the services that speak Chat put reasoning; pydantic-ai names the field as the id of the thinking."""


_SETTINGS = OpenAIChatModelSettings(openai_continuous_usage_stats=True)
"""What counts is the last usage of a stream: many servers tell one with each chunk, of all that came so far."""


class _Counted(OpenAIChatModel):
    """A model whose server is asked for usage in OpenAI's words only, however often it tells it."""

    def _get_stream_options(self, model_settings: object) -> Any:  # noqa: ANN401 - its hook for subclasses
        del model_settings
        return {"include_usage": True}


class Foreign(_Counted):
    """A model of a service that is not OpenAI's."""

    class _MapModelResponseContext(OpenAIChatModel._MapModelResponseContext):  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - its hook for subclasses
        def _into_message_param(self) -> ChatCompletionAssistantMessageParam | None:
            message = super()._into_message_param()
            if message is not None and message.get("content") is None:
                message["content"] = ""  # beside calls many servers take no null
            return message


def build(target: Target, http: httpx2.AsyncClient, *, foreign: type[Foreign] = Foreign) -> ModelFor:
    """Return what makes the model, a `foreign` one if the target is no model of OpenAI's."""
    key, address, name = target.key or NO_KEY, target.address, target.provider.name
    client = AsyncOpenAI(api_key=key, base_url=address, http_client=http, max_retries=0)
    # By the provider's name its prices are looked up: a model at home has not the price of its namesake.
    if target.provider.foreign:
        kind, provider = foreign, OpenAICompatibleProvider(name, openai_client=client)
    else:
        kind, provider = _Counted, OpenAIProvider(openai_client=client)

    # The first one loads what the SDK put off, which must not happen on the event loop.
    usual = kind(target.model, provider=provider, profile=OpenAIModelProfile(), settings=_SETTINGS)

    def model_for(conversation: Conversation) -> PydanticModel[Any]:
        # Left to find out the field itself, it adds it to earlier calls of a turn and takes it away after.
        field = _reasoning_field(conversation)
        if field is None:
            return usual
        profile = OpenAIModelProfile(openai_chat_thinking_field=field, openai_chat_send_back_thinking_parts="field")
        return kind(target.model, provider=provider, profile=profile, settings=_SETTINGS)

    return model_for


def _reasoning_field(conversation: Conversation) -> str | None:
    """Return the field in which the model's own reasoning first came, None if none came in a field."""
    own = (m for m in conversation.messages if isinstance(m, AssistantMessage) and m.model == conversation.model)
    thoughts = (part for message in own for part in message.parts if isinstance(part, ThinkingPart))
    return next((part.id for part in thoughts if part.id in _REASONING_FIELDS), None)  # an imported id may be anything


WIRE = Wire(build=build, terminal=rb"data: ?\[DONE\]", marks_errors=False)
