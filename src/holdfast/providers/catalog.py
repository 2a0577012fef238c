"""The providers: what is known of each, and the built-in ones, `builtin_providers.json`.

The table has names, variables and addresses as a provider's own documentation has them, how its Chat Completions differ
from OpenAI's, and what people read about it. It is read once, when the first provider is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from holdfast.config.model_servers import (
    AuthHeader,
    EffortForm,
    HeaderValue,
    LimitField,
    ModelOverrides,
    ProtocolKind,
    TextCalls,
    ThinkingForm,
)
from holdfast.history.profiles import ANTHROPIC, ANY, BEDROCK, COHERE, GEMINI, MISTRAL, OPENAI_COMPATIBLE, PROFILES
from holdfast.history.rules.profile import NO_MEDIA, Profile
from holdfast.typed_data import decode_json

if TYPE_CHECKING:
    from holdfast.providers.model import Model


class Compat(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The dialect of one provider; the defaults suit most servers that are not OpenAI's.

    `stream_usage`: streams report token usage only if `stream_options` asks for it; False for servers that refuse that
    field. `null_content`: content next to calls is null if there is none, not "". `think_tags`: thinking may stand
    between `<think>` and `</think>` at the beginning of the content. `thinking` is how a model gets its own thinking
    back: "as-received" in the field or the tags in which it came, "parts" as parts of the content (Mistral), "none" not
    at all (Groq refuses it). `reasoning_details`: thinking comes and goes as `reasoning_details` too (OpenRouter).
    `reasoning_with_calls`: each message with calls has `reasoning_content`, "" if there is none (DeepSeek).
    `reports_cost`: the usage has the cost in US dollars. `effort` is the field that sets how much a model reasons:
    `reasoning_effort`, OpenRouter's `reasoning: {effort}`, or `chat_template_kwargs`, from which a chat template reads
    `enable_thinking` and `reasoning_effort`. `output_limit` is the field that limits an answer. `service_tiers` are
    those it takes, also over Responses. `no_effort_with_tools` are beginnings of names of models that refuse tools
    together with any effort but none. `prompt_progress`: a stream tells how much of the prompt is read if
    `return_progress` asks for it (llama.cpp). `text_calls`: calls that its models write as text are read, over any
    protocol; "auto" for servers of the user's own.
    """

    stream_usage: bool = True
    null_content: bool = False
    think_tags: bool = True
    thinking: ThinkingForm = "as-received"
    reasoning_details: bool = False
    reasoning_with_calls: bool = False
    reports_cost: bool = False
    effort: EffortForm = "reasoning_effort"
    output_limit: LimitField = "max_tokens"
    service_tiers: tuple[str, ...] = ()
    no_effort_with_tools: tuple[str, ...] = ()
    prompt_progress: bool = False
    text_calls: TextCalls = "off"


FOREIGN_COMPAT = Compat()

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


# --- the built-in providers ---


class ProviderInfo(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What people read: `title`, the SDK's default `address`, and the page where `keys` are created."""

    title: str
    address: str = ""
    keys: str = ""


class ProviderRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the table: a `Provider` with the name of its profile; `source` is where a fact comes from."""

    name: str
    kind: ProtocolKind
    profile: str
    info: ProviderInfo
    key_variable: str | None = None
    also_key_variable: str | None = None
    address_variable: str | None = None
    address: str | None = None
    region_variables: tuple[str, ...] = ()
    regional_address: str = ""
    path: str = ""
    model: str = ""
    compat: Compat = FOREIGN_COMPAT
    auth: AuthHeader | None = None
    source: str = ""

    def provider(self) -> Provider:
        """Return the provider of the row. Raise `KeyError` for an unknown profile."""
        return Provider(
            name=self.name,
            kind=self.kind,
            profile=PROFILES[self.profile],
            key_variable=self.key_variable,
            also_key_variable=self.also_key_variable,
            address_variable=self.address_variable,
            address=self.address,
            region_variables=self.region_variables,
            regional_address=self.regional_address,
            path=self.path,
            model=self.model,
            compat=self.compat,
            auth=self.auth,
        )


PROVIDER_TABLE = Path(__file__).with_name("builtin_providers.json")

_ROWS = decode_json(PROVIDER_TABLE.read_bytes(), list[ProviderRow])

PROVIDERS: Providers = MappingProxyType({row.name: row.provider() for row in _ROWS})
"""The built-in providers, which need no config."""

PROVIDER_INFO: Mapping[str, ProviderInfo] = MappingProxyType(
    {
        **{row.name: row.info for row in _ROWS},
        PYDANTIC_AI: ProviderInfo(title="a provider of pydantic-ai (an extra)"),
    }
)
"""What people read about each provider that has its name here."""

MISTRAL_COMPAT = PROVIDERS["mistral"].compat
