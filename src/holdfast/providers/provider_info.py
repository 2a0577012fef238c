"""Facts about providers for people: title, address, and where to create a key."""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.providers.catalog import PROVIDER_INFO, ProviderInfo
from holdfast.providers.credentials.redaction import strip_credentials
from holdfast.providers.registry import Provider, is_loopback


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
