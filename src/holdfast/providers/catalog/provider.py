"""A provider: its protocol, profile, key, address and headers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from holdfast.config.model_servers import AuthHeader, HeaderValue, ModelOverrides, ProtocolKind
from holdfast.history.profiles import ANTHROPIC, ANY, BEDROCK, COHERE, GEMINI, MISTRAL, OPENAI_COMPATIBLE
from holdfast.history.rules.profile import NO_MEDIA, Profile
from holdfast.providers.catalog.compat import FOREIGN_COMPAT, Compat

if TYPE_CHECKING:
    from holdfast.providers.model import Model

FOREIGN_PROFILES: Mapping[ProtocolKind, Profile] = MappingProxyType(
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


def without_vision(profile: Profile) -> Profile:
    """Return the profile of a provider whose models cannot see images."""
    return msgspec.structs.replace(profile, media=NO_MEDIA)


_NO_OVERRIDES = ModelOverrides()


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """A provider: its protocol, its validation profile, and where its key and its address come from.

    Without a `key_variable` it needs no key; `also_key_variable` is a second variable that may hold the key. `address`
    is the base URL unless `address_variable` is set; None means the protocol's own. With `region_variables`, the base
    URL is `regional_address` with the first of them that is set. `path` is the end of every base URL, for variables
    that hold only the host. `model` is an example model, "" if there is no typical one. `overrides` are the
    user's own facts about its models. `compat` is its dialect of Chat Completions, `auth` the header for its key,
    None for the protocol's own; `headers` are sent with every request. With `through_pydantic_ai`, that library speaks
    to it, and `kind` has no meaning; nor has it with `opener`, a plug-in's function that connects to its models.
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
    path: str = ""
    model: str = ""
    overrides: tuple[tuple[str, ModelOverrides], ...] = ()
    compat: Compat = FOREIGN_COMPAT
    auth: AuthHeader | None = None
    headers: tuple[tuple[str, HeaderValue], ...] = ()
    through_pydantic_ai: bool = False
    opener: Callable[..., Model] | None = None

    @property
    def foreign(self) -> bool:
        """Return whether this is not the service that the protocol's SDK was made for."""
        return self.address is not None

    def key_in(self, environ: Mapping[str, str]) -> str:
        """Return its key as found in the environment, "" if it is not set."""
        found = (environ.get(name, "") for name in (self.key_variable, self.also_key_variable) if name)
        return next((key for key in found if key.strip()), "")

    def base_url_in(self, environ: Mapping[str, str]) -> str:
        """Return its base URL as found in the environment, "" if it is not set."""
        found = environ.get(self.address_variable, "") if self.address_variable else ""
        return found if not found or found.rstrip("/").endswith(self.path) else f"{found.rstrip('/')}{self.path}"

    def profile_for(self, model: str) -> Profile:
        """Return the validation profile of one model."""
        sees = self.overrides_of(model).images
        if sees is None or sees == (self.profile.media is not NO_MEDIA):
            return self.profile
        return FOREIGN_PROFILES[self.kind] if sees else without_vision(self.profile)

    def overrides_of(self, model: str) -> ModelOverrides:
        """Return the user's own facts about one model."""
        return dict(self.overrides).get(model, _NO_OVERRIDES)

    @property
    def all_headers(self) -> tuple[HeaderValue, ...]:
        """Return the values of the headers for all of its models."""
        model_headers = (value for _, overrides in self.overrides for value in overrides.headers.values())
        return (*(value for _, value in self.headers), *model_headers)

    def headers_for(self, model: str) -> dict[str, HeaderValue]:
        """Return the headers of requests to one model, by their names in lower case."""
        model_headers = {name.lower(): value for name, value in self.overrides_of(model).headers.items()}
        return {**dict(self.headers), **model_headers}

    @property
    def example(self) -> str:
        """Return an example of PROVIDER:MODEL."""
        return f"{self.name}:{self.model or 'MODEL'}"


PYDANTIC_AI = "pydantic-ai"
"""The name in `pydantic-ai:PROVIDER:MODEL`, for a provider whose protocol holdfast does not speak."""

_PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "anthropic": ANTHROPIC,
        "bedrock": BEDROCK,
        "cohere": COHERE,
        "google": GEMINI,
        "google-cloud": GEMINI,
        "google-vertex": GEMINI,
        "mistral": MISTRAL,
    }
)


def through_pydantic_ai(model: str) -> Provider:
    """Return the provider of `model`, a PROVIDER:MODEL name of pydantic-ai, which finds the keys itself."""
    profile = _PROFILES.get(model.partition(":")[0], ANY)
    return Provider(name=PYDANTIC_AI, kind="openai-chat", profile=profile, through_pydantic_ai=True)


Providers = Mapping[str, Provider]
"""The providers of a run, by name."""
