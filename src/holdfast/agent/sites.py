"""What a person may want to know of a provider beside what a run needs: who it is, where it is, where keys are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from holdfast.agent.providers import Provider
from holdfast.agent.secrets import bare


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Of one provider: `title` for people, the `address` that its library knows, `keys` where one gets one."""

    title: str
    address: str = ""
    keys: str = ""


SITES: Mapping[str, Site] = MappingProxyType(
    {
        "openai": Site(
            title="OpenAI, by its Responses protocol",
            address="https://api.openai.com/v1",
            keys="https://platform.openai.com/api-keys",
        ),
        "openai-chat": Site(
            title="OpenAI, by its older Chat Completions protocol",
            address="https://api.openai.com/v1",
            keys="https://platform.openai.com/api-keys",
        ),
        "anthropic": Site(
            title="Anthropic",
            address="https://api.anthropic.com",
            keys="https://console.anthropic.com/settings/keys",
        ),
        "google": Site(
            title="Google Gemini",
            address="https://generativelanguage.googleapis.com",
            keys="https://aistudio.google.com/apikey",
        ),
        "mistral": Site(
            title="Mistral",
            address="https://api.mistral.ai",
            keys="https://console.mistral.ai/api-keys",
        ),
        "bedrock": Site(title="Amazon Bedrock"),
        "openrouter": Site(title="OpenRouter, many models with one key", keys="https://openrouter.ai/settings/keys"),
        "ollama": Site(title="Ollama, models on this computer"),
    }
)


def site_of(provider: Provider) -> Site:
    """Return what is known of a provider."""
    return SITES.get(provider.name) or Site(title=f"a server of your own, at {bare(provider.address or '')}")


def overriding(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the variable that says where the provider would be asked, "" if none does: its key goes there, too."""
    variable = provider.address_variable or ""
    return variable if environ.get(variable) else ""


def address_of(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return where the provider would be asked, "" if only its library knows."""
    own = environ.get(provider.address_variable, "") if provider.address_variable else ""
    return own or provider.address or site_of(provider).address
