"""Anthropic Messages over Anthropic's SDK."""

from __future__ import annotations

import httpx2
from anthropic import AsyncAnthropic
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.providers.anthropic import AnthropicProvider

from holdfast.providers.pydantic_ai.sdk_protocols.sdk_protocol import NO_KEY, ModelFor, SdkProtocol
from holdfast.providers.registry import ModelEndpoint

_CACHED = AnthropicModelSettings(
    anthropic_cache_tool_definitions=True, anthropic_cache_instructions=True, anthropic_cache_messages=True
)
"""Cache marks: Anthropic caches only up to a mark. They are on blocks, where proxies know them."""


class _Named(AnthropicProvider):
    """Anthropic's provider under holdfast's provider name, by which its own thinking is recognized."""

    def __init__(self, name: str, client: AsyncAnthropic | AsyncAnthropicBedrockMantle) -> None:
        super().__init__(anthropic_client=client)
        self._name = name

    @property
    def name(self) -> str:
        return self._name


def _build(target: ModelEndpoint, http: httpx2.AsyncClient) -> ModelFor:
    key, address = target.key or NO_KEY, target.address
    return made(target, AsyncAnthropic(api_key=key, base_url=address, http_client=http, max_retries=0))


def made(target: ModelEndpoint, client: AsyncAnthropic | AsyncAnthropicBedrockMantle) -> ModelFor:
    """Return the model factory for this client."""
    # With the SDK's default it would stream, unasked, whenever the limit is large.
    profile = anthropic_model_profile(target.model) or {}
    most = profile.get("anthropic_max_output_tokens")
    old = profile.get("anthropic_rejects_max_tokens_beyond_context_window")
    settings = AnthropicModelSettings() if target.provider.foreign else _CACHED.copy()
    if most is not None and not old:
        settings["max_tokens"] = most
    model = AnthropicModel(target.model, provider=_Named(target.provider.name, client), settings=settings)
    return lambda _: model


WIRE = SdkProtocol(build=_build, terminal=rb"event: ?message_stop", marks_errors=True)
