"""Anthropic Messages over Anthropic's SDK."""

from __future__ import annotations

import httpx2
from anthropic import AsyncAnthropic, AsyncAnthropicBedrockMantle
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.settings import ModelSettings

from holdfast.agent.providers import Target
from holdfast.agent.wires.wire import NO_KEY, ModelFor, Wire


class _Named(AnthropicProvider):
    """Anthropic's, under the name of ours: by it thinking is known to be its own."""

    def __init__(self, name: str, client: AsyncAnthropic | AsyncAnthropicBedrockMantle) -> None:
        super().__init__(anthropic_client=client)
        self._name = name

    @property
    def name(self) -> str:
        return self._name


def _build(target: Target, http: httpx2.AsyncClient) -> ModelFor:
    key, address = target.key or NO_KEY, target.address
    return made(target, AsyncAnthropic(api_key=key, base_url=address, http_client=http, max_retries=0))


def made(target: Target, client: AsyncAnthropic | AsyncAnthropicBedrockMantle) -> ModelFor:
    """Return what makes the model that is spoken to by this client."""
    # Left to that default, it streams in secret what was asked for in one piece, if the limit is large.
    profile = anthropic_model_profile(target.model) or {}
    most = profile.get("anthropic_max_output_tokens")
    old = profile.get("anthropic_rejects_max_tokens_beyond_context_window")
    settings = None if most is None or old else ModelSettings(max_tokens=most)
    model = AnthropicModel(target.model, provider=_Named(target.provider.name, client), settings=settings)
    return lambda _: model


WIRE = Wire(build=_build, terminal=rb"event: ?message_stop", marks_errors=True)
