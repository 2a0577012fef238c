"""Anthropic Messages over Anthropic's SDK."""

from __future__ import annotations

import httpx2
from anthropic import AsyncAnthropic
from anthropic.lib.bedrock import AsyncAnthropicBedrockMantle
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.profiles.anthropic import anthropic_model_profile
from pydantic_ai.providers.anthropic import AnthropicProvider

from holdfast.agent.providers import Target
from holdfast.agent.wires.wire import NO_KEY, ModelFor, Wire

_CACHED = AnthropicModelSettings(
    anthropic_cache_tool_definitions=True, anthropic_cache_instructions=True, anthropic_cache_messages=True
)
"""Marks up to which Anthropic keeps what it read; without one, nothing. They stand on blocks, proxies know those."""


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
    settings = AnthropicModelSettings() if target.provider.foreign else _CACHED.copy()
    if most is not None and not old:
        settings["max_tokens"] = most
    model = AnthropicModel(target.model, provider=_Named(target.provider.name, client), settings=settings)
    return lambda _: model


WIRE = Wire(build=_build, terminal=rb"event: ?message_stop", marks_errors=True)
