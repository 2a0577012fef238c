"""The built-in providers: names, variables and addresses as their own documentation has them."""

from __future__ import annotations

from types import MappingProxyType

from holdfast.history.profiles import (
    ANTHROPIC,
    BEDROCK,
    DEEPSEEK,
    GEMINI,
    MISTRAL,
    OPENAI_CHAT,
    OPENAI_COMPATIBLE,
    OPENAI_RESPONSES,
)
from holdfast.history.rules.profile import Profile
from holdfast.providers.catalog.compat import (
    DEEPSEEK_COMPAT,
    FOREIGN_COMPAT,
    GROQ_COMPAT,
    LLAMACPP_COMPAT,
    LOCAL_COMPAT,
    MISTRAL_COMPAT,
    OPENAI_COMPAT,
    OPENROUTER_COMPAT,
    TEMPLATE_COMPAT,
    Compat,
)
from holdfast.providers.catalog.provider import Provider, Providers


def _chat(
    name: str,
    address: str,
    model: str,
    *,
    profile: Profile = OPENAI_COMPATIBLE,
    compat: Compat = FOREIGN_COMPAT,
    path: str = "",
) -> Provider:
    """Return a provider with Chat Completions whose variables are named after it."""
    return Provider(
        name=name,
        kind="openai-chat",
        profile=profile,
        key_variable=f"{name.upper()}_API_KEY",
        address_variable=f"{name.upper()}_BASE_URL",
        address=address,
        path=path,
        model=model,
        compat=compat,
    )


def _local(name: str, *, port: int, compat: Compat = LOCAL_COMPAT) -> Provider:
    """Return a provider with Chat Completions on this computer."""
    return Provider(
        name=name,
        kind="openai-chat",
        profile=OPENAI_COMPATIBLE,
        address_variable=f"{name.upper()}_BASE_URL",
        address=f"http://localhost:{port}/v1",
        compat=compat,
    )


PROVIDERS: Providers = MappingProxyType(
    {
        provider.name: provider
        for provider in (
            Provider(
                name="openai",
                kind="openai-responses",
                profile=OPENAI_RESPONSES,
                compat=OPENAI_COMPAT,
                key_variable="OPENAI_API_KEY",
                address_variable="OPENAI_BASE_URL",
                model="gpt-5.5",
            ),
            Provider(
                name="openai-chat",
                kind="openai-chat",
                profile=OPENAI_CHAT,
                compat=OPENAI_COMPAT,
                key_variable="OPENAI_API_KEY",
                address_variable="OPENAI_BASE_URL",
                model="gpt-5.5",
            ),
            Provider(
                name="anthropic",
                kind="anthropic",
                profile=ANTHROPIC,
                key_variable="ANTHROPIC_API_KEY",
                address_variable="ANTHROPIC_BASE_URL",
                model="claude-sonnet-5-5",
            ),
            Provider(
                name="google",
                kind="gemini",
                profile=GEMINI,
                key_variable="GEMINI_API_KEY",
                also_key_variable="GOOGLE_API_KEY",
                address_variable="GOOGLE_GEMINI_BASE_URL",
                model="gemini-3.8-flash",
            ),
            Provider(
                name="mistral",
                kind="mistral",
                profile=MISTRAL,
                compat=MISTRAL_COMPAT,
                key_variable="MISTRAL_API_KEY",
                address_variable="MISTRAL_BASE_URL",
                address="https://api.mistral.ai/v1",
                model="mistral-medium-latest",
            ),
            Provider(
                name="bedrock",
                kind="bedrock",
                profile=BEDROCK,
                key_variable="AWS_BEARER_TOKEN_BEDROCK",
                address_variable="ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
                region_variables=("AWS_REGION", "AWS_DEFAULT_REGION"),
                regional_address="https://bedrock-mantle.{region}.api.aws/anthropic",
                model="anthropic.claude-sonnet-5-5",
            ),
            Provider(
                name="azure",
                kind="openai-responses",
                profile=OPENAI_RESPONSES,
                key_variable="AZURE_OPENAI_API_KEY",
                address_variable="AZURE_OPENAI_ENDPOINT",
                path="/openai/v1",
                model="gpt-5.5",
                compat=OPENAI_COMPAT,
                auth="api-key",
            ),
            _chat(
                "openrouter",
                "https://openrouter.ai/api/v1",
                "anthropic/claude-sonnet-5.5",
                compat=OPENROUTER_COMPAT,
            ),
            _chat(
                "deepseek",
                "https://api.deepseek.com/v1",
                "deepseek-v4-pro",
                profile=DEEPSEEK,
                compat=DEEPSEEK_COMPAT,
            ),
            _chat(
                "groq",
                "https://api.groq.com/openai/v1",
                "openai/gpt-oss-120b",
                compat=GROQ_COMPAT,
                path="/openai/v1",  # the variable for Groq's own library does not include it
            ),
            _chat("xai", "https://api.x.ai/v1", "grok-4.7"),
            _local("ollama", port=11434),
            _local("lmstudio", port=1234),
            _local("vllm", port=8000, compat=TEMPLATE_COMPAT),
            _local("llamacpp", port=8080, compat=LLAMACPP_COMPAT),
        )
    }
)
"""The built-in providers, which need no config."""
