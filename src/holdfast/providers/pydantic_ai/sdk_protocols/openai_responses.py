"""OpenAI Responses, for OpenAI and compatible servers, over OpenAI's SDK.

Two rules. The service stores nothing: each request is complete. So no item is sent with its ID, which the service
would look up: reasoning is identified by its encrypted content, a call by its call ID.
"""

from __future__ import annotations

from typing import Any, cast

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import NO_KEY, ModelFor, SdkProtocol
from holdfast.providers.registry import ModelEndpoint

# "Ids" makes pydantic-ai send reasoning as reasoning; without it, it is sent as text.
_SETTINGS = OpenAIResponsesModelSettings(openai_store=False, openai_send_reasoning_ids=True)


class _WithoutIds(OpenAIResponsesModel):
    def _map_model_response(self, message_index: int, message: ModelResponse, context: Any) -> None:  # noqa: ANN401 - its own
        before = len(context.openai_messages)
        super()._map_model_response(message_index, message, context)
        for item in context.openai_messages[before:]:
            cast("dict[str, object]", item).pop("id", None)


def _build(target: ModelEndpoint, http: httpx2.AsyncClient) -> ModelFor:
    key, address, name = target.key or NO_KEY, target.address, target.provider.name
    client = AsyncOpenAI(api_key=key, base_url=address, http_client=http, max_retries=0)
    if target.provider.foreign:
        provider = OpenAICompatibleProvider(name, openai_client=client)
    else:
        provider = OpenAIProvider(openai_client=client)
    # The SDK knows by the model's name whether it reasons: other models refuse to encrypt reasoning.
    model = _WithoutIds(target.model, provider=provider, settings=_SETTINGS)
    return lambda _: model


WIRE = SdkProtocol(build=_build, terminal=rb"event: ?response\.(?:completed|incomplete|failed)", marks_errors=False)
