"""The registry of providers, built-in and configured: address, protocol and key of each.

Two rules. A configured provider overrides a built-in one of the same name. No provider SDK is imported here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from urllib.parse import urlsplit

import msgspec

from holdfast.config.settings import ModelOverrides, ProtocolKind, Server
from holdfast.errors import ConfigInvalid, ModelUnusable
from holdfast.history.profiles import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    MISTRAL,
    OPENAI_CHAT,
    OPENAI_COMPATIBLE,
    OPENAI_RESPONSES,
)
from holdfast.history.rules.profile import NO_MEDIA, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider: its protocol, its validation profile, and where its key and its address come from.

    Without a `key_variable` it needs no key; `also_key_variable` is a second variable that may hold the key. `address`
    is the base URL unless `address_variable` is set; None means the protocol's own. With `region_variables`, the base
    URL is `regional_address` with the first of them that is set. `model` is an example model, "" if there is no typical
    one. `vision` is whether a model accepts images, where the user says so.
    """

    name: str
    kind: ProtocolKind
    profile: Profile
    key_variable: str | None = None
    also_key_variable: str | None = None
    address_variable: str | None = None
    address: str | None = None
    region_variables: tuple[str, ...] = ()
    regional_address: str = ""
    model: str = ""
    vision: tuple[tuple[str, bool], ...] = ()

    @property
    def foreign(self) -> bool:
        """Return whether this is not the service that the protocol's SDK was made for."""
        return self.address is not None

    def key_in(self, environ: Mapping[str, str]) -> str:
        """Return its key as found in the environment, "" if it is not set."""
        found = (environ.get(name, "") for name in (self.key_variable, self.also_key_variable) if name)
        return next((key for key in found if key.strip()), "")

    def profile_for(self, model: str) -> Profile:
        """Return the validation profile of one model."""
        sees = dict(self.vision).get(model)
        if sees is None or sees == (self.profile.media is not NO_MEDIA):
            return self.profile
        return _FOREIGN[self.kind] if sees else without_vision(self.profile)

    @property
    def example(self) -> str:
        """Return an example of PROVIDER:MODEL."""
        return f"{self.name}:{self.model or 'MODEL'}"


Providers = Mapping[str, Provider]
"""The providers of a run, by name."""

PROVIDERS: Providers = MappingProxyType(
    {
        provider.name: provider
        for provider in (
            Provider(
                name="openai",
                kind="openai-responses",
                profile=OPENAI_RESPONSES,
                key_variable="OPENAI_API_KEY",
                address_variable="OPENAI_BASE_URL",
                model="gpt-5.5",
            ),
            Provider(
                name="openai-chat",
                kind="openai-chat",
                profile=OPENAI_CHAT,
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
                name="openrouter",
                kind="openai-chat",
                profile=OPENAI_COMPATIBLE,
                key_variable="OPENROUTER_API_KEY",
                address_variable="OPENROUTER_BASE_URL",
                address="https://openrouter.ai/api/v1",
                model="anthropic/claude-sonnet-5.5",
            ),
            Provider(
                name="ollama",
                kind="openai-chat",
                profile=OPENAI_COMPATIBLE,
                address_variable="OLLAMA_BASE_URL",
                address="http://localhost:11434/v1",
            ),
        )
    }
)
"""The built-in providers, which need no config."""

_FOREIGN: Mapping[ProtocolKind, Profile] = MappingProxyType(
    {
        "openai-responses": OPENAI_COMPATIBLE,
        "openai-chat": OPENAI_COMPATIBLE,
        "mistral": MISTRAL,
        "anthropic": ANTHROPIC,
        "bedrock": BEDROCK,
        "gemini": GEMINI,
    }
)
"""The profile of a server that speaks another vendor's protocol."""

_NO_MODELS: Mapping[str, ModelOverrides] = MappingProxyType({})

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REGION = re.compile(r"[A-Za-z0-9-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def known_providers(own: Mapping[str, Server], models: Mapping[str, ModelOverrides] = _NO_MODELS) -> Providers:
    """Return the built-in and the configured providers, with what `models` says of images.

    Raise `ConfigInvalid` for an unusable provider, and for a model of an unknown one.
    """
    known = {**PROVIDERS, **{name: _provider(name, server) for name, server in own.items()}}
    for name, overrides in models.items():
        prefix, _, model = name.partition(":")
        provider = known.get(prefix)
        if provider is None:
            near = difflib.get_close_matches(prefix, known, n=1, cutoff=0.4)
            hint = f"Did you mean {near[0]}:{model}? " if near else ""
            raise ConfigInvalid(
                f"Unknown provider {prefix!r} in [models.{name!r}] (expected one of {', '.join(known)}). "
                f"{hint}Fix the name in the config."
            )
        if overrides.images is not None:
            known[prefix] = replace(provider, vision=(*provider.vision, (model, overrides.images)))
    return MappingProxyType(known)


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
    if server.api_key_env is not None and not _VARIABLE.fullmatch(server.api_key_env):  # not quoted: it may be the key
        raise ConfigInvalid(
            f"Invalid api_key_env of provider {name!r} (expected a variable name: letters, digits, '_'). Put the "
            "variable's name there and the key into that variable. Remove it if the server needs no key."
        )
    return Provider(
        name=name,
        kind=server.kind,
        profile=_FOREIGN[server.kind] if server.images else without_vision(_FOREIGN[server.kind]),
        key_variable=server.api_key_env,
        address=server.base_url,
    )


def without_vision(profile: Profile) -> Profile:
    """Return the profile of a provider whose models cannot see images."""
    return msgspec.structs.replace(profile, media=NO_MEDIA)


def is_address(text: str) -> bool:
    """Return whether the text is the URL of a server."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and text.isprintable()


def profile_of(name: str, providers: Providers = PROVIDERS) -> Profile:
    """Return the validation profile for PROVIDER:MODEL; for an unknown provider, the one that suits most servers."""
    prefix, _, model = name.partition(":")
    provider = providers.get(prefix)
    return provider.profile_for(model) if provider else OPENAI_COMPATIBLE


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A model to connect to, with everything the connection needs; `key` is None if it needs none."""

    provider: Provider
    model: str
    key: str | None = field(repr=False)
    address: str | None

    @property
    def name(self) -> str:
        return f"{self.provider.name}:{self.model}"


def split(name: str, providers: Providers = PROVIDERS) -> tuple[Provider, str]:
    """Split `name` (PROVIDER:MODEL) into provider and model. Raise `ModelUnusable`."""
    examples = f"{PROVIDERS['openai'].example} or {PROVIDERS['anthropic'].example}"
    prefix, colon, model = name.partition(":")
    if not colon or not model.strip():
        raise ModelUnusable(f"Model {name!r} names no provider (expected PROVIDER:MODEL). For example: {examples}.")
    if not name.isprintable():
        raise ModelUnusable(f"Model {name!r} contains unprintable characters. Write it as {examples}, for example.")
    provider = providers.get(prefix)
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
    return ModelEndpoint(provider, model, key, asked_at(provider, environ))


def asked_at(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the base URL of the provider, None for the protocol's own. Raise `ModelUnusable`."""
    own = environ.get(provider.address_variable) if provider.address_variable else None
    if own and not is_address(own):  # not quoted: it may contain a password
        raise ModelUnusable(
            f"{provider.address_variable} of provider {provider.name!r} is not a URL (expected http://… or https://…). "
            "Fix that variable, or unset it."
        )
    if address := own or provider.address:
        return address
    return _regional(provider, environ) if provider.region_variables else None


def _regional(provider: Provider, environ: Mapping[str, str]) -> str:
    """Return the address in the region of the environment. Raise `ModelUnusable`."""
    wanted = provider.region_variables[0]
    advice = f"Set {wanted} (export {wanted}=us-east-1) to the region that the key is for."
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
