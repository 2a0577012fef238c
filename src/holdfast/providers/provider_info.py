"""Facts about providers for people: title, address, and where to create a key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from holdfast.providers.catalog.provider import PYDANTIC_AI
from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.registry import Provider, is_loopback


class ProviderInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one provider: `title`, the SDK's default `address`, and the page where `keys` are created."""

    title: str
    address: str = ""
    keys: str = ""


PROVIDER_INFO: Mapping[str, ProviderInfo] = MappingProxyType(
    {
        "openai": ProviderInfo(
            title="OpenAI (Responses API)",
            address="https://api.openai.com/v1",
            keys="https://platform.openai.com/api-keys",
        ),
        "openai-chat": ProviderInfo(
            title="OpenAI (older Chat Completions API)",
            address="https://api.openai.com/v1",
            keys="https://platform.openai.com/api-keys",
        ),
        "anthropic": ProviderInfo(
            title="Anthropic",
            address="https://api.anthropic.com",
            keys="https://console.anthropic.com/settings/keys",
        ),
        "google": ProviderInfo(
            title="Google Gemini",
            address="https://generativelanguage.googleapis.com",
            keys="https://aistudio.google.com/apikey",
        ),
        "mistral": ProviderInfo(
            title="Mistral",
            address="https://api.mistral.ai",
            keys="https://console.mistral.ai/api-keys",
        ),
        "bedrock": ProviderInfo(title="Amazon Bedrock"),
        "openrouter": ProviderInfo(
            title="OpenRouter (many models with one key)", keys="https://openrouter.ai/settings/keys"
        ),
        "azure": ProviderInfo(title="Azure OpenAI (Responses API)", keys="https://ai.azure.com"),
        "deepseek": ProviderInfo(title="DeepSeek", keys="https://platform.deepseek.com/api_keys"),
        "groq": ProviderInfo(title="Groq", keys="https://console.groq.com/keys"),
        "xai": ProviderInfo(title="xAI", keys="https://console.x.ai"),
        "ollama": ProviderInfo(title="Ollama (models on this computer)"),
        "lmstudio": ProviderInfo(title="LM Studio (models on this computer)"),
        "vllm": ProviderInfo(title="vLLM (models on this computer)"),
        "llamacpp": ProviderInfo(title="llama.cpp (a model on this computer)"),
        PYDANTIC_AI: ProviderInfo(title="a provider of pydantic-ai (an extra)"),
    }
)


def info_of(provider: Provider) -> ProviderInfo:
    """Return the facts about a provider."""
    return PROVIDER_INFO.get(provider.name) or ProviderInfo(
        title=f"your own server at {strip_credentials(provider.address or '')}"
    )


def overriding_variable(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the variable whose URL replaces the provider's base URL, "" if none is set: requests and key go there."""
    variable = provider.address_variable or ""
    return variable if environ.get(variable) else ""


def address_of(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the base URL of the provider, "" if only its SDK knows it."""
    return provider.base_url_in(environ) or provider.address or info_of(provider).address


def is_own_server(provider: Provider, environ: Mapping[str, str]) -> bool:
    """Return whether the provider is on this computer, or wants no key: a server of the user's own."""
    return not provider.through_pydantic_ai and (
        provider.key_variable is None or is_loopback(address_of(provider, environ))
    )
