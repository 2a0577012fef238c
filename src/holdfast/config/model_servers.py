"""The config's settings of model servers and of single models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from holdfast.session.journal.model_settings import Effort, OutputTokens, SamplingTemperature, ServiceTier

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Dollars = Annotated[float, msgspec.Meta(gt=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Retries = Annotated[int, msgspec.Meta(ge=0)]


class ProviderLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Limits of one provider. None: the general limit applies."""

    connect: Seconds | None = None
    write: Seconds | None = None
    pool: Seconds | None = None
    first_event: Seconds | None = None
    first_event_most: Seconds | None = None
    idle_event: Seconds | None = None
    attempts: Count | None = None
    retry_empty: Retries | None = None
    backoff: Seconds | None = None
    longest_backoff: Seconds | None = None


ProtocolKind = Literal["openai-responses", "openai-chat", "mistral", "anthropic", "bedrock", "gemini"]
"""The protocols that a server can speak."""

AuthHeader = Literal["bearer", "api-key", "x-api-key", "x-goog-api-key"]
"""The header for the key: `Authorization: Bearer KEY`, or one that contains only the key."""


ThinkingForm = Literal["as-received", "parts", "none"]
"""How a model gets its own thinking back over Chat Completions."""

EffortForm = Literal["reasoning_effort", "reasoning", "chat_template_kwargs"]
"""The field of Chat Completions that sets how much a model reasons."""

LimitField = Literal["max_tokens", "max_completion_tokens"]
"""The field of Chat Completions that limits an answer."""


TextCalls = Literal["auto", "off"]
"""Whether calls that a model writes as text, in an exact form, are calls."""


class ServerCompat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """How a configured server differs from others; the fields are those of `Compat`. None: as its kind usually does."""

    stream_usage: bool | None = None
    null_content: bool | None = None
    think_tags: bool | None = None
    thinking: ThinkingForm | None = None
    reasoning_details: bool | None = None
    reasoning_with_calls: bool | None = None
    reports_cost: bool | None = None
    effort: EffortForm | None = None
    output_limit: LimitField | None = None
    service_tiers: tuple[str, ...] | None = None
    no_effort_with_tools: tuple[str, ...] | None = None
    prompt_progress: bool | None = None
    text_calls: TextCalls | None = None


class HeaderVariable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The environment variable that holds the value of a header, for values that are secret."""

    env: str


HeaderValue = str | HeaderVariable

VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OWN_HEADERS = frozenset(
    {
        *("host", "connection", "content-length", "content-type", "transfer-encoding"),
        *("accept", "accept-encoding"),
    }
)


class Server(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A provider that the user configured: protocol, base URL, and the environment variable of its key, if any.

    `auth` is the header for the key if it is not the protocol's own, `headers` are sent with every request. `images` is
    whether its models accept images, `compat` how its Chat Completions differ.
    """

    kind: ProtocolKind
    base_url: str
    api_key_env: str | None = None
    auth: AuthHeader | None = None
    headers: dict[str, HeaderValue] = msgspec.field(default_factory=dict[str, HeaderValue])
    images: bool = True
    compat: ServerCompat | None = None
    limits: ProviderLimits | None = None

    def __post_init__(self) -> None:
        _check_headers(self.headers)


def _check_headers(headers: Mapping[str, HeaderValue]) -> None:
    """Raise `ValueError` for a header that cannot be sent. No value is quoted: it may be a secret."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ValueError(f"Header {name!r} has an invalid name (expected letters, digits and '-')")
        if name.lower() in _OWN_HEADERS:
            raise ValueError(f"Header {name!r} is set by holdfast itself")
        if isinstance(value, HeaderVariable):
            if not VARIABLE_NAME.fullmatch(value.env):
                raise ValueError(f"Header {name!r} names no variable (expected {{ env = 'NAME' }})")
        elif not is_header_value(value):
            raise ValueError(f"Header {name!r} has an invalid value (expected printable ASCII)")


def is_header_value(text: str) -> bool:
    """Return whether the text can be the value of a header."""
    return text.isascii() and text.isprintable() and bool(text.strip())


ReasoningKind = Literal["none", "effort", "budget", "adaptive", "level", "always"]
"""How the reasoning of a model is set: `holdfast.providers.model_table.Reasoning` explains each."""

Price = Annotated[float, msgspec.Meta(ge=0, le=1_000_000)]


_OWN_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "temperature": "`temperature`",
        **dict.fromkeys(("max_tokens", "max_completion_tokens", "max_output_tokens"), "`max_output`"),
        **dict.fromkeys(("model", "messages", "input", "contents", "stream", "stream_options", "store", "include"), ""),
        **dict.fromkeys(("system", "systemInstruction", "instructions", "previous_response_id", "conversation"), ""),
        **dict.fromkeys(("tools", "tool_choice", "toolConfig", "background", "n"), ""),
    }
)
"""Fields of a request that `extra_body` may not have, each with the setting for it; "" if there is none."""


class ModelOverrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The user's settings for one model: facts, which override the table of models, and settings of its requests.

    None: the table's fact, or no setting. Prices are US dollars per million tokens. Without a price for the cache,
    cached tokens cost what the input costs. `max_output` is the most tokens of an answer: no request asks for more, and
    each asks for that. `extra_body` is merged into the body of each request, `headers` are sent with each.
    """

    context_window: Count | None = None
    max_output: OutputTokens | None = None
    input_price: Price | None = None
    output_price: Price | None = None
    cache_read_price: Price | None = None
    cache_write_price: Price | None = None
    images: bool | None = None
    reasoning: ReasoningKind | None = None
    effort: Effort | None = None
    temperature: SamplingTemperature | None = None
    service_tier: ServiceTier | None = None
    extra_body: dict[str, object] = msgspec.field(default_factory=dict[str, object])
    headers: dict[str, HeaderValue] = msgspec.field(default_factory=dict[str, HeaderValue])

    def __post_init__(self) -> None:
        _check_headers(self.headers)
        for name in self.extra_body.keys() & _OWN_FIELDS.keys():
            setting = _OWN_FIELDS[name]
            advice = f"set {setting}, which is sent as the model wants it" if setting else "holdfast writes it itself"
            raise ValueError(f"Field {name!r} cannot be in `extra_body` ({advice})")
        prices = (self.input_price, self.output_price)
        if None in prices and any(
            each is not None for each in (*prices, self.cache_read_price, self.cache_write_price)
        ):
            raise ValueError("A price is incomplete (expected both `input_price` and `output_price`)")
