"""The providers by name: which key and address each takes from the environment. Imports no provider's library."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.errors import ModelUnusable
from holdfast.history.profiles import ANTHROPIC, OPENAI_CHAT, OPENAI_COMPATIBLE, Profile


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as the environment describes it."""

    name: str
    key_variable: str
    address_variable: str
    example: str
    profile: Profile


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", "openai-chat:gpt-5.5", OPENAI_CHAT),
        Provider("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "anthropic:claude-sonnet-5-5", ANTHROPIC),
    )
}


def profile_of(name: str) -> Profile:
    """Return what the provider of PROVIDER:MODEL accepts; of one that is not known, what nearly everybody does."""
    provider = PROVIDERS.get(name.partition(":")[0])
    return provider.profile if provider else OPENAI_COMPATIBLE


@dataclass(frozen=True, slots=True)
class Target:
    """A model that can be connected to: everything its connection needs."""

    provider: Provider
    model: str
    key: str = field(repr=False)
    address: str | None

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return f"{self.provider.name}:{self.model}"


def split(name: str) -> tuple[Provider, str]:
    """Return the provider and the model that `name` (PROVIDER:MODEL) stands for; raises `ModelUnusable`."""
    examples = " or ".join(provider.example for provider in PROVIDERS.values())
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
    provider = PROVIDERS.get(prefix)
    if provider is None:
        near = difflib.get_close_matches(prefix, PROVIDERS, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}:{model}?" if near else f"Write it as {examples}, for example."
        raise ModelUnusable(
            f"Model {name!r} names an unknown provider {prefix!r}, one of {', '.join(PROVIDERS)} was expected. {hint}"
        )
    return provider, model


def target(name: str, environ: Mapping[str, str]) -> Target:
    """Return what `name` (PROVIDER:MODEL) stands for; raises `ModelUnusable` naming what is missing."""
    provider, model = split(name)
    key = environ.get(provider.key_variable, "")
    if not key.strip():
        raise ModelUnusable(
            f"Key of provider {provider.name!r} is missing, {provider.key_variable} in the environment was expected. "
            f"Set it (export {provider.key_variable}=…), or see the product without a key: holdfast demo."
        )
    # Whoever refuses it later quotes it: in an error, in the journal, in a note to the next provider.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ModelUnusable(
            f"Key of provider {provider.name!r} has a space, a line end or another character that no key has, plain "
            f"ASCII was expected. Set {provider.key_variable} again without it; the key is not shown here."
        )
    return Target(provider, model, key, environ.get(provider.address_variable) or None)
