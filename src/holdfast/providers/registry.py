"""The registry of providers, built-in and configured: address, protocol and key of each.

A configured provider overrides a built-in one of the same name. No provider SDK is imported here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from holdfast.config.model_servers import (
    VARIABLE_NAME,
    AuthHeader,
    HeaderValue,
    HeaderVariable,
    ModelOverrides,
    Server,
    is_header_value,
)
from holdfast.errors import ConfigInvalid, ModelUnusable
from holdfast.history.profiles import OPENAI_COMPATIBLE
from holdfast.history.rules.profile import Profile
from holdfast.providers.catalog import (
    FOREIGN_COMPAT,
    FOREIGN_PROFILES,
    MISTRAL_COMPAT,
    PROVIDER_INFO,
    PROVIDERS,
    PYDANTIC_AI,
    Compat,
    Provider,
    ProviderInfo,
    Providers,
    through_pydantic_ai,
    without_vision,
)
from holdfast.providers.credentials.redaction import strip_credentials

if TYPE_CHECKING:
    from holdfast.providers.model_table import ModelFacts


__all__ = ["PROVIDERS", "Provider", "Providers", "without_vision"]  # imported from here, defined in `catalog`

_NO_MODELS: Mapping[str, ModelOverrides] = MappingProxyType({})

_CLAUDE_FIELDS = frozenset({"thinking", "output_config"})
"""Fields that Claude accepts or refuses depending on the messages."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REGION = re.compile(r"[A-Za-z0-9-]+")


_NONE_ADDED: Providers = MappingProxyType({})


def known_providers(
    servers: Mapping[str, Server],
    models: Mapping[str, ModelOverrides] = _NO_MODELS,
    *,
    added: Providers = _NONE_ADDED,
) -> Providers:
    """Return the built-in and the configured providers, and those `added` by plug-ins, with the overrides in `models`.

    Raise `ConfigInvalid` for an unusable provider, and for a model of an unknown one.
    """
    known = {**added, **PROVIDERS, **{name: _provider(name, server) for name, server in servers.items()}}
    for name, overrides in models.items():
        prefix, _, model = name.partition(":")
        provider = _find_provider(prefix, model, known)
        if provider is None:
            near = difflib.get_close_matches(prefix, known, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]}:{model}? " if near else ""
            raise ConfigInvalid(
                f"Unknown provider {prefix!r} in [models.{name!r}] (expected one of {', '.join(known)}). "
                f"{hint}Fix the name in the config."
            )
        forbidden = overrides.extra_body.keys() & _CLAUDE_FIELDS
        if forbidden and provider.kind in ("anthropic", "bedrock"):
            raise ConfigInvalid(
                f"Field {min(forbidden)!r} cannot be in extra_body of [models.{name!r}]: {prefix} would refuse some "
                "requests. Set `effort`, which is sent where it is accepted."
            )
        known[prefix] = msgspec.structs.replace(provider, overrides=(*provider.overrides, (model, overrides)))
    return MappingProxyType(known)


def _find_provider(name: str, model: str, providers: Mapping[str, Provider]) -> Provider | None:
    """Return the provider of that name; for pydantic-ai, one for the model, with the user's overrides."""
    found = providers.get(name)
    if name != PYDANTIC_AI or (found is not None and not found.through_pydantic_ai):
        return found
    provider = through_pydantic_ai(model)
    return provider if found is None else msgspec.structs.replace(provider, overrides=found.overrides)


def _provider(name: str, server: Server) -> Provider:
    if not _NAME.fullmatch(name):
        raise ConfigInvalid(
            f"Provider name {name!r} in the config cannot be used in PROVIDER:MODEL (expected letters, digits, '.', "
            "'_' and '-'). Rename the provider."
        )
    if not is_address(server.base_url):
        raise ConfigInvalid(
            f"Invalid base_url of provider {name!r} (expected http://… or https://…). Fix it in the config."
        )
    if server.api_key_env is not None and not VARIABLE_NAME.fullmatch(server.api_key_env):
        # The name is not quoted: it may be the key itself.
        raise ConfigInvalid(
            f"Invalid api_key_env of provider {name!r} (expected a variable name: letters, digits, '_'). Put the "
            "variable's name there and the key into that variable. Remove it if the server needs no key."
        )
    return Provider(
        name=name,
        kind=server.kind,
        profile=FOREIGN_PROFILES[server.kind] if server.images else without_vision(FOREIGN_PROFILES[server.kind]),
        key_variable=server.api_key_env,
        address=server.base_url,
        compat=_compat(server),
        auth=server.auth,
        headers=tuple((name.lower(), value) for name, value in server.headers.items()),
    )


def _compat(server: Server) -> Compat:
    usual = MISTRAL_COMPAT if server.kind == "mistral" else FOREIGN_COMPAT
    default = msgspec.structs.replace(usual, text_calls="auto")
    return msgspec.structs.replace(default, **msgspec.to_builtins(server.compat)) if server.compat else default


def is_address(text: str) -> bool:
    """Return whether the text is the URL of a server."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and _is_one_word(text)


def is_loopback(address: str) -> bool:
    """Return whether a URL names this computer."""
    host = (urlsplit(address).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def _is_one_word(text: str) -> bool:
    return text.isprintable() and " " not in text


def profile_of(name: str, providers: Providers = PROVIDERS) -> Profile:
    """Return the validation profile for PROVIDER:MODEL; for an unknown provider, the one that suits most servers."""
    prefix, _, model = name.partition(":")
    provider = _find_provider(prefix, model, providers)
    return provider.profile_for(model) if provider else OPENAI_COMPATIBLE


def reads_text_calls(name: str, providers: Providers = PROVIDERS) -> bool:
    """Return whether calls that the model PROVIDER:MODEL writes as text are calls."""
    prefix, _, model = name.partition(":")
    provider = _find_provider(prefix, model, providers)
    return provider is not None and not provider.through_pydantic_ai and provider.compat.text_calls == "auto"


class ModelEndpoint(msgspec.Struct, frozen=True):
    """A model to connect to, with everything the connection needs; `key` is None if it needs none.

    `environ` is for pydantic-ai, which looks there for the keys and addresses of its providers.
    """

    provider: Provider
    model: str
    key: str | None
    address: str | None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    environ: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])

    def __repr__(self) -> str:
        return f"ModelEndpoint(name={self.name!r}, address={self.address!r})"  # without the key and the headers

    @property
    def on_own_server(self) -> bool:
        """Return whether the server is on this computer, or wants no key: then its time costs no money."""
        if self.provider.through_pydantic_ai:
            return False
        return self.key is None or is_loopback(self.address or "")

    @property
    def facts(self) -> ModelFacts:
        """Return the facts about the model, from the user's config and the table of models."""
        from holdfast.providers.model_table import facts_of

        overrides = {self.name: self.provider.overrides_of(self.model)}
        return facts_of(self.name, kind=self.provider.kind, overrides=overrides)

    @property
    def extra_body(self) -> Mapping[str, object]:
        """Return the fields that the user's config adds to the body of each request."""
        return self.provider.overrides_of(self.model).extra_body

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the key, and the values of headers that come from environment variables."""
        headers = self.provider.headers_for(self.model)
        secret_headers = {name for name, value in headers.items() if isinstance(value, HeaderVariable)}
        return tuple(each for each in (self.key, *(self.headers[name] for name in secret_headers)) if each)

    @property
    def name(self) -> str:
        return f"{self.provider.name}:{self.model}"

    def key_header(self, default: AuthHeader) -> dict[str, str]:
        """Return the header with the key, none without a key; `usual` is the protocol's own."""
        if self.key is None:
            return {}
        auth = self.provider.auth or default
        return {"authorization": f"Bearer {self.key}"} if auth == "bearer" else {auth: self.key}


def split(name: str, providers: Providers = PROVIDERS) -> tuple[Provider, str]:
    """Split `name` (PROVIDER:MODEL) into provider and model. Raise `ModelUnusable`."""
    examples = f"{PROVIDERS['openai'].example} or {PROVIDERS['anthropic'].example}"
    prefix, colon, model = name.partition(":")
    if not colon or not model.strip():
        raise ModelUnusable(f"Model {name!r} names no provider (expected PROVIDER:MODEL). For example: {examples}.")
    if not name.isprintable():
        raise ModelUnusable(f"Model {name!r} contains unprintable characters. Write it as {examples}, for example.")
    provider = _find_provider(prefix, model, providers)
    if provider is None:
        near = difflib.get_close_matches(prefix, providers, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}:{model}?" if near else f"Write it as {examples}, for example."
        raise ModelUnusable(
            f"Unknown provider {prefix!r} in model {name!r} (expected one of {', '.join(providers)}). {hint}"
        )
    return provider, model


def resolve_endpoint(name: str, environ: Mapping[str, str], providers: Providers = PROVIDERS) -> ModelEndpoint:
    """Return the endpoint for `name` (PROVIDER:MODEL). Raise `ModelUnusable` with what is missing."""
    provider, model = split(name, providers)
    key = None if provider.key_variable is None else _key(provider, environ)
    headers = {name: _header(name, value, provider, environ) for name, value in provider.headers_for(model).items()}
    endpoint = ModelEndpoint(provider, model, key, resolve_base_url(provider, environ), headers)
    return msgspec.structs.replace(endpoint, environ=environ) if provider.through_pydantic_ai else endpoint


def _header(name: str, value: HeaderValue, provider: Provider, environ: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return value
    found = environ.get(value.env, "").strip()
    if not is_header_value(found):  # not quoted: it is a secret
        what = "No value" if not found else "Invalid value (expected printable ASCII)"
        raise ModelUnusable(
            f"{what} for the header {name!r} of {provider.name}. Set {value.env} (export {value.env}=…)."
        )
    return found


def resolve_base_url(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the base URL of the provider, None for the protocol's own. Raise `ModelUnusable`."""
    from_environment = provider.base_url_in(environ)
    if from_environment and not is_address(from_environment):  # not quoted: it may contain a password
        raise ModelUnusable(
            f"{provider.address_variable} of provider {provider.name!r} is not a URL (expected http://… or https://…). "
            "Fix that variable, or unset it."
        )
    if address := from_environment or provider.address:
        return address
    if provider.path and provider.address_variable:
        variable = provider.address_variable
        raise ModelUnusable(f"No address for {provider.name}. Set {variable} (export {variable}=https://…).")
    return _regional(provider, environ) if provider.region_variables else None


def _regional(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the address in the region of the environment. Raise `ModelUnusable`."""
    variable = provider.region_variables[0]
    advice = f"Set {variable} (export {variable}=us-east-1) to the region that the key is for."
    region = next((found for each in provider.region_variables if (found := environ.get(each))), None)
    if region is None:
        raise ModelUnusable(f"No region for {provider.name}. {advice}")
    if not _REGION.fullmatch(region):  # not quoted: it would be part of an address
        raise ModelUnusable(f"Invalid region for {provider.name} (expected letters, digits and '-'). {advice}")
    return provider.regional_address.format(region=region)


def _key(provider: Provider, environ: Mapping[str, str]) -> str:
    key, variable = provider.key_in(environ), provider.key_variable
    if not key:
        also = f" (or {provider.also_key_variable})" if provider.also_key_variable else ""
        raise ModelUnusable(
            f"No API key for {provider.name}. Set {variable}{also} (export {variable}=…).", fault="no_key"
        )
    # A server that refuses the key quotes it: in an error, in the journal, in a note to the next provider.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelUnusable(
            f"API key of {provider.name} contains a space, a line break or a non-ASCII character. "
            f"Set {variable} again without it; the key is not shown here."
        )
    return key


# --- Facts about providers for people: title, address, and where to create a key ---


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
