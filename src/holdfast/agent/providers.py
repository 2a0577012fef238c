"""The providers by name: which key and address each takes from the environment. Imports no provider's library."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.errors import ModelUnusable


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider as the environment describes it."""

    name: str
    key_variable: str
    address_variable: str
    example: str


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider("openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", "openai-chat:gpt-5.5"),
        Provider("anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "anthropic:claude-sonnet-5-5"),
    )
}


@dataclass(frozen=True, slots=True)
class Target:
    """A model that can be connected to: everything its connection needs."""

    provider: Provider
    model: str
    key: str
    address: str | None

    @property
    def name(self) -> str:
        """Return PROVIDER:MODEL."""
        return f"{self.provider.name}:{self.model}"


def target(name: str, environ: Mapping[str, str]) -> Target:
    """Return what `name` (PROVIDER:MODEL) stands for; raises `ModelUnusable` naming what is missing."""
    examples = " or ".join(provider.example for provider in PROVIDERS.values())
    prefix, colon, model = name.partition(":")
    if not colon or not model.strip():
        raise ModelUnusable(
            f"Model {name!r} has no provider, PROVIDER:MODEL was expected. Write it as {examples}, for example."
        )
    provider = PROVIDERS.get(prefix)
    if provider is None:
        near = difflib.get_close_matches(prefix, PROVIDERS, n=1, cutoff=0.4)
        hint = f"Did you mean {near[0]}:{model}?" if near else f"Write it as {examples}, for example."
        raise ModelUnusable(
            f"Model {name!r} names an unknown provider {prefix!r}, one of {', '.join(PROVIDERS)} was expected. {hint}"
        )
    key = environ.get(provider.key_variable, "")
    if not key.strip():
        raise ModelUnusable(
            f"Key of provider {prefix!r} is missing, {provider.key_variable} in the environment was expected. "
            f"Set it (export {provider.key_variable}=…), or see the product without a key: holdfast demo."
        )
    return Target(provider, model, key, environ.get(provider.address_variable) or None)
