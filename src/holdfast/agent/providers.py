"""The providers by name, built in or of the config: where each is, its protocol and its key.

Two rules. A provider of the config wins over a built-in one of its name. No library of any is imported here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import urlsplit

import msgspec

from holdfast.config import Kind, Server
from holdfast.errors import ConfigInvalid, ModelUnusable
from holdfast.history.profile import NO_MEDIA, Profile
from holdfast.history.profiles import (
    ANTHROPIC,
    BEDROCK,
    GEMINI,
    MISTRAL,
    OPENAI_CHAT,
    OPENAI_COMPATIBLE,
    OPENAI_RESPONSES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider: the protocol it speaks, what it accepts, and where its key and its address come from.

    Without a `key_variable` it wants no key; where there is an `also_key_variable`, the key may be in that instead.
    `address` is where it is unless `address_variable` says otherwise; None is the address that its library knows.
    Where there are `region_variables`, that one is made of what one of them says. `model` is one it has, "" if that
    depends.
    """

    name: str
    kind: Kind
    profile: Profile
    key_variable: str | None = None
    also_key_variable: str | None = None
    address_variable: str | None = None
    address: str | None = None
    region_variables: tuple[str, ...] = ()
    model: str = ""

    @property
    def foreign(self) -> bool:
        """Return whether it is not the one that its protocol's library is made for."""
        return self.address is not None

    def key_in(self, environ: Mapping[str, str]) -> str:
        """Return its key, as it is written there, "" if it is not."""
        found = (environ.get(name, "") for name in (self.key_variable, self.also_key_variable) if name)
        return next((key for key in found if key.strip()), "")

    @property
    def example(self) -> str:
        """Return PROVIDER:MODEL, as a person might write it."""
        return f"{self.name}:{self.model or 'MODEL'}"


Providers = Mapping[str, Provider]
"""The providers that a run knows, by name."""

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
"""Those that need no config."""

_FOREIGN: Mapping[Kind, Profile] = MappingProxyType(
    {
        "openai-responses": OPENAI_COMPATIBLE,
        "openai-chat": OPENAI_COMPATIBLE,
        "mistral": MISTRAL,
        "anthropic": ANTHROPIC,
        "bedrock": BEDROCK,
        "gemini": GEMINI,
    }
)
"""What a server accepts that speaks a protocol which is not its maker's."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def known_providers(own: Mapping[str, Server]) -> Providers:
    """Return the built-in providers and those of the config; raises `ConfigInvalid` for one that cannot be used."""
    return MappingProxyType({**PROVIDERS, **{name: _provider(name, server) for name, server in own.items()}})


def _provider(name: str, server: Server) -> Provider:
    if not _NAME.fullmatch(name):
        raise ConfigInvalid(
            f"Provider {name!r} of the config has a name that cannot stand in PROVIDER:MODEL, letters, digits, '.', "
            "'_' and '-' were expected. Rename it."
        )
    if not is_address(server.base_url):
        raise ConfigInvalid(
            f"Address of provider {name!r} is not one of a server, http://… or https://… was expected. Correct its "
            "base_url."
        )
    if server.api_key_env is not None and not _VARIABLE.fullmatch(server.api_key_env):  # it may be the key itself
        raise ConfigInvalid(
            f"Key variable of provider {name!r} is no name of one, letters, digits and '_' were expected. Put the "
            "variable's name into api_key_env, and the key into that variable; or leave it out if it wants no key."
        )
    return Provider(
        name=name,
        kind=server.kind,
        profile=_FOREIGN[server.kind] if server.images else blind(_FOREIGN[server.kind]),
        key_variable=server.api_key_env,
        address=server.base_url,
    )


def blind(profile: Profile) -> Profile:
    """Return the profile of a provider whose models cannot see."""
    return msgspec.structs.replace(profile, media=NO_MEDIA)


def is_address(text: str) -> bool:
    """Return whether the text is an address at which a server can be asked."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and text.isprintable()


def profile_of(name: str, providers: Providers = PROVIDERS) -> Profile:
    """Return what the provider of PROVIDER:MODEL accepts; of one that is not known, what nearly everybody does."""
    provider = providers.get(name.partition(":")[0])
    return provider.profile if provider else OPENAI_COMPATIBLE


@dataclass(frozen=True, slots=True)
class Target:
    """A model that can be connected to: everything its connection needs; `key` is None if it wants none."""

    provider: Provider
    model: str
    key: str | None = field(repr=False)
    address: str | None

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return f"{self.provider.name}:{self.model}"


def split(name: str, providers: Providers = PROVIDERS) -> tuple[Provider, str]:
    """Return the provider and the model that `name` (PROVIDER:MODEL) stands for; raises `ModelUnusable`."""
    examples = f"{PROVIDERS['openai'].example} or {PROVIDERS['anthropic'].example}"
    prefix, colon, model = name.partition(":")
    if not colon or not model.strip():
        raise ModelUnusable(
            f"Model {name!r} has no provider, PROVIDER:MODEL was expected. Write it as {examples}, for example."
        )
    if not name.isprintable():
        raise ModelUnusable(
            f"Model {name!r} has characters that cannot be printed, a name was expected. Write it as {examples}, for "
            "example."
        )
    provider = providers.get(prefix)
    if provider is None:
        near = difflib.get_close_matches(prefix, providers, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}:{model}?" if near else f"Write it as {examples}, for example."
        raise ModelUnusable(
            f"Model {name!r} names an unknown provider {prefix!r}, one of {', '.join(providers)} was expected. {hint}"
        )
    return provider, model


def target(name: str, environ: Mapping[str, str], providers: Providers = PROVIDERS) -> Target:
    """Return what `name` (PROVIDER:MODEL) stands for; raises `ModelUnusable` naming what is missing."""
    provider, model = split(name, providers)
    key = None if provider.key_variable is None else _key(provider, environ)
    return Target(provider, model, key, asked_at(provider, environ))


def asked_at(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the address that the provider is asked at, None for the one its library knows; raises `ModelUnusable`."""
    own = environ.get(provider.address_variable) if provider.address_variable else None
    if own and not is_address(own):  # and not shown: it may hold a password
        raise ModelUnusable(
            f"Address of provider {provider.name!r} is not one of a server, http://… or https://… was expected in "
            f"{provider.address_variable}. Correct that variable, or unset it."
        )
    if address := own or provider.address:
        return address
    if provider.region_variables and not any(environ.get(each) for each in provider.region_variables):
        wanted = provider.region_variables[0]
        raise ModelUnusable(
            f"Region of provider {provider.name!r} is missing, {wanted} in the environment was expected. Set it "
            f"(export {wanted}=us-east-1) to the one that the key is for."
        )
    return None


def _key(provider: Provider, environ: Mapping[str, str]) -> str:
    key, variable = provider.key_in(environ), provider.key_variable
    if not key:
        also = f" (or {provider.also_key_variable})" if provider.also_key_variable else ""
        raise ModelUnusable(
            f"Key of provider {provider.name!r} is missing, {variable}{also} in the environment was expected. "
            f"Set it (export {variable}=…), or run: holdfast setup. To see the product without a key: holdfast demo."
        )
    # Whoever refuses it later quotes it: in an error, in the journal, in a note to the next provider.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelUnusable(
            f"Key of provider {provider.name!r} has a space, a line end or another character that no key has, plain "
            f"ASCII was expected. Set {variable} again without it; the key is not shown here."
        )
    return key
