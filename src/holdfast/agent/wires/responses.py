"""OpenAI Responses, as OpenAI and as everybody else speaks it, over OpenAI's SDK.

Two rules. The service keeps nothing of ours: each request is whole. So no item goes back under its id, which would be
looked up: reasoning is known by what is sealed in it, a call by its call id.
"""

from __future__ import annotations

from typing import Any, cast

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from holdfast.agent.providers import Target
from holdfast.agent.wires.wire import NO_KEY, ModelFor, Wire

# "Ids" is what makes reasoning go back as reasoning; without it, it goes as text.
_SETTINGS = OpenAIResponsesModelSettings(openai_store=False, openai_send_reasoning_ids=True)


class _WithoutIds(OpenAIResponsesModel):
    def _map_model_response(self, message_index: int, message: ModelResponse, context: Any) -> None:  # noqa: ANN401 - its own
        before = len(context.openai_messages)
        super()._map_model_response(message_index, message, context)
        for item in context.openai_messages[before:]:
            cast("dict[str, object]", item).pop("id", None)


def _build(target: Target, http: httpx2.AsyncClient) -> ModelFor:
    key, address, name = target.key or NO_KEY, target.address, target.provider.name
    client = AsyncOpenAI(api_key=key, base_url=address, http_client=http, max_retries=0)
    if target.provider.foreign:
        provider = OpenAICompatibleProvider(name, openai_client=client)
    else:
        provider = OpenAIProvider(openai_client=client)
    # Its class is known by name whether it reasons: one that does not refuses to seal any.
    model = _WithoutIds(target.model, provider=provider, settings=_SETTINGS)
    return lambda _: model


WIRE = Wire(build=_build, terminal=rb"event: ?response\.(?:completed|incomplete|failed)", marks_errors=False)
