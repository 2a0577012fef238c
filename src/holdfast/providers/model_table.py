"""Facts about each model: window, largest output, prices, and how it reasons.

The facts are data: `make models` writes `models.json` from other packages, genai-prices for windows and prices,
pydantic-ai's profiles for what a model accepts. Neither is imported here. A provider's part is decoded when one of its
models is first looked up.

Names are matched as genai-prices matches them: the first model whose name or pattern fits counts. What a model accepts
follows from its family instead, by prefix, so a model that is newer than the table has the facts of its family and no
price. For example, `claude-opus-5-9` accepts what `claude-opus-5` accepts. Prices are those of a provider under
holdfast's own name for it: a local model does not cost what a hosted model of the same name costs.

`ModelFacts.assumed` names the facts that are unknown. The user's `[models."PROVIDER:MODEL"]` wins over the table.

Laws: for every name, a window and a price are those of genai-prices, and what the model accepts is what pydantic-ai's
profile says.

What a request costs: the rates of a model, and the arithmetic of genai-prices over them.

A model has several sets of rates if its price changes by date or by time of day: the last one that applies counts. A
rate may depend on the size of the input: above a threshold, all tokens cost the higher rate. Cached tokens are part of
the input and are charged at their own rate, or at the rate of the input if the model has none for them.

Laws (`tests/providers/test_model_table_laws.py`): `price_of` gives what genai-prices gives for the same model, tokens,
time and service tier.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import msgspec

from holdfast.config.model_servers import ModelOverrides, ProtocolKind, ReasoningKind
from holdfast.session.journal.parts import Usage
from holdfast.typed_data import decode_json

if TYPE_CHECKING:
    from decimal import Decimal


class TieredRate(msgspec.Struct, frozen=True):
    """A rate that depends on the size of the input: `base`, replaced by another rate above each threshold."""

    base: str
    above: tuple[tuple[int, str], ...]


Rate = str | TieredRate
"""US dollars per million tokens, as a decimal string."""


class Rates(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One set of rates: valid `since` a date and within `hours` of the day, both UTC; None: always."""

    input: Rate | None = None
    output: Rate | None = None
    cache_read: Rate | None = None
    cache_write: Rate | None = None
    since: dt.date | None = None
    hours: tuple[dt.time, dt.time] | None = None

    def apply_at(self, moment: dt.datetime) -> bool:
        """Return whether these rates apply at `moment`, which is in UTC."""
        if self.since is not None and moment.date() < self.since:
            return False
        if self.hours is None:
            return True
        start, end = self.hours
        now = moment.time()
        return start <= now < end if start <= end else now >= start or now < end


class TierRates(Rates, frozen=True, kw_only=True, omit_defaults=True):
    """Rates that replace some of the usual ones in one service tier."""

    service_tier: str


class Prices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All rates of a model; never empty. A model that has no rate for tokens has no `Prices`."""

    rates: tuple[Rates, ...]
    tiers: tuple[TierRates, ...] = ()

    def now(self) -> tuple[float | None, float | None]:
        """Return the rates of input and output that apply now, for a short request, in US dollars per million."""
        rates = _rates_at(self, dt.datetime.now(dt.UTC), "")
        pair = (rates.get("input"), rates.get("output"))
        return tuple(None if each is None else float(_rate_for(each, 0)) for each in pair)  # pyright: ignore[reportReturnType] - two


def price_of(prices: Prices, usage: Usage, *, at: dt.datetime | None = None, service_tier: str = "") -> str | None:
    """Return the price of a request in US dollars as a decimal string, None if the counts contradict each other.

    `at` is when it was sent, by default now; `service_tier` is the one that the provider says it used.
    """
    moment = (at or dt.datetime.now(dt.UTC)).astimezone(dt.UTC)
    counts = {
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
        "output": usage.output_tokens,
    }
    rates = _rates_at(prices, moment, service_tier)
    cached = sum(counts[kind] for kind in ("cache_read", "cache_write") if kind in rates)
    counts["input"] = usage.input_tokens - cached
    if any(counts[kind] < 0 for kind in rates):
        return None
    return str(_sum(rates, counts, usage.input_tokens))


def _rates_at(prices: Prices, moment: dt.datetime, service_tier: str) -> dict[str, Rate]:
    standard = next((each for each in reversed(prices.rates) if each.apply_at(moment)), prices.rates[0])
    rates: dict[str, Rate] = {}
    special = (each for each in prices.tiers if each.service_tier == service_tier and each.apply_at(moment))
    for each in (*special, standard):  # the first that has a rate wins
        for kind in ("input", "output", "cache_read", "cache_write"):
            rate: Rate | None = getattr(each, kind)  # the field of one kind of tokens
            if rate is not None:
                rates.setdefault(kind, rate)
    return rates


def _sum(rates: dict[str, Rate], counts: dict[str, int], input_tokens: int) -> Decimal:
    from decimal import Decimal  # 4 ms at import, needed only after a response

    total = Decimal(0)
    for kind, rate in rates.items():
        total += Decimal(_rate_for(rate, input_tokens)) * Decimal(counts[kind]) / 1_000_000
    return total


def _rate_for(rate: Rate, input_tokens: int) -> str:
    if isinstance(rate, str):
        return rate
    return next((price for start, price in reversed(rate.above) if input_tokens > start), rate.base)


# --- model table ---

TABLE = Path(__file__).with_name("models.json")

Temperature = Literal["any", "while-not-reasoning", "refused"]


class Reasoning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a model reasons, and how that is set.

    `effort`: one of `levels` as OpenAI's reasoning effort. `budget`: a number of tokens, for Anthropic together with
    one of `levels` as `output_config.effort`. `adaptive`: Anthropic's adaptive thinking, with one of `levels`. `level`:
    one of `levels` as Gemini's thinking level. `always`: it reasons, and there is nothing to set.

    `off` is what turns it off: an effort, a budget of 0, or a `type` of Anthropic's thinking; "" if it cannot be turned
    off. `checked` is False if the levels are the usual ones and a server may refuse some. `by_default` is whether it
    reasons if a request does not say so, None if unknown.
    """

    kind: ReasoningKind = "none"
    levels: tuple[str, ...] = ()
    off: str = ""
    checked: bool = True
    by_default: bool | None = None


class Traits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What models of one family accept.

    `max_tokens` is what a request says if the protocol requires a limit, `max_output` the most that it may say.
    `sealed_reasoning` is whether Responses returns the reasoning encrypted (`include: reasoning.encrypted_content`),
    `all_turns` whether it takes `reasoning: {context: all_turns}`.
    """

    reasoning: Reasoning = Reasoning()
    max_tokens: int | None = None
    max_output: int | None = None
    temperature: Temperature = "any"
    sealed_reasoning: bool = False
    all_turns: bool = False
    images: bool | None = None
    pdf: bool | None = None


class NamePattern(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename={"any_of": "any", "all_of": "all"}
):
    """A rule about a name in lower case; one field is set."""

    equals: str | None = None
    starts_with: str | None = None
    ends_with: str | None = None
    contains: str | None = None
    regex: str | None = None
    any_of: tuple[NamePattern, ...] = ()
    all_of: tuple[NamePattern, ...] = ()

    def fits(self, name: str) -> bool:
        """Return whether the name matches the rule."""
        match self:
            case NamePattern(equals=str() as text):
                fits = name == text
            case NamePattern(starts_with=str() as text):
                fits = name.startswith(text)
            case NamePattern(ends_with=str() as text):
                fits = name.endswith(text)
            case NamePattern(contains=str() as text):
                fits = text in name
            case NamePattern(regex=str() as text):
                fits = re.search(text, name) is not None
            case NamePattern(any_of=patterns) if patterns:
                fits = any(each.fits(name) for each in patterns)
            case _:
                fits = all(each.fits(name) for each in self.all_of)
        return fits


class ModelRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One model of a provider: its names, by default its id alone, other patterns, its window and its rates."""

    id: str
    names: tuple[str, ...] | None = None
    match: tuple[NamePattern, ...] = ()
    window: int = 0
    rates: tuple[Rates, ...] = ()
    tiers: tuple[TierRates, ...] = ()

    def fits(self, name: str) -> bool:
        """Return whether a name in lower case means this model."""
        is_named = name == self.id if self.names is None else name in self.names
        return is_named or any(each.fits(name) for each in self.match)


class FamilyRule(msgspec.Struct, frozen=True, kw_only=True):
    """The traits of all names that fit; the first rule that fits counts."""

    name: NamePattern
    traits: Traits


_ANY_NAME = NamePattern(starts_with="")
"""The pattern of a family's last rule, which applies to all other models."""


class ModelTable(msgspec.Struct, frozen=True, kw_only=True):
    """The file: its date, the versions it was made from, and a part for each provider and each family.

    `fallbacks` are the providers whose models a provider also serves.
    """

    date: dt.date
    sources: dict[str, str]
    fallbacks: dict[str, tuple[str, ...]]
    models: dict[str, msgspec.Raw]
    families: dict[str, msgspec.Raw]


class ModelFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about one model. `known`: the table has it. `assumed`: the fields below that are unknown.

    A `context_window` of 0 is unknown. The other fields are those of `Traits`.
    """

    name: str
    known: bool
    assumed: tuple[str, ...]
    context_window: int
    prices: Prices | None
    reasoning: Reasoning
    max_tokens: int | None
    max_output: int | None
    temperature: Temperature
    sealed_reasoning: bool
    all_turns: bool
    images: bool | None
    pdf: bool | None


Overrides = Mapping[str, ModelOverrides]
"""The user's own settings of models, by PROVIDER:MODEL."""

NO_OVERRIDES: Overrides = MappingProxyType({})

_TABLE_NAMES: Mapping[str, str] = MappingProxyType({"openai-chat": "openai"})
"""The name under which the table lists a provider's models and prices, if not its own."""

_FAMILY_OF: Mapping[str, str] = MappingProxyType({"bedrock": "anthropic"})
"""The family whose traits the models of a provider have, if not its own."""

_FAMILY_OF_KIND: Mapping[ProtocolKind, str] = MappingProxyType(
    {
        "openai-responses": "openai",
        "openai-chat": "openai-chat",
        "mistral": "mistral",
        "anthropic": "anthropic",
        "bedrock": "anthropic",
        "gemini": "google",
    }
)
"""The family for a configured server, by its protocol."""

_DATE = re.compile(r"(-)(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
"""A date suffix such as -20251211."""

_BEDROCK = re.compile(r"(?:.*/)?(?:[a-z-]+\.)?anthropic\.(.*?)(?:-v\d+(?::.*)?)?")
"""A Claude at Amazon: ARN, region, vendor, the name at Anthropic, version."""


@functools.cache
def model_table() -> ModelTable:
    """Return the table, read once."""
    return decode_json(TABLE.read_bytes(), ModelTable)


def facts_of(name: str, *, kind: ProtocolKind | None = None, overrides: Overrides = NO_OVERRIDES) -> ModelFacts:
    """Return the facts about PROVIDER:MODEL.

    `kind` is the protocol of the provider: it selects the family for a configured server.
    """
    provider, _, model = name.partition(":")
    row = _row_of(provider, model.lower())
    rule = _rule_of(provider, model, kind)
    override = overrides.get(name, ModelOverrides())
    facts = rule.traits if rule else Traits()
    prices = _user_prices(override) or (Prices(rates=row.rates, tiers=row.tiers) if row and row.rates else None)
    window = override.context_window or (row.window if row else 0)
    reasoning = facts.reasoning if override.reasoning is None else _user_reasoning(override, facts.reasoning)
    images = facts.images if override.images is None else override.images
    most = override.max_output or facts.max_output
    unknown = {
        "context_window": not window,
        "prices": prices is None,
        "reasoning": override.reasoning is None and row is None and (rule is None or rule.name == _ANY_NAME),
        "max_output": most is None,
        "images": images is None,
        "pdf": facts.pdf is None,
    }
    return ModelFacts(
        name=name,
        known=row is not None,
        assumed=tuple(field for field, missing in unknown.items() if missing),
        context_window=window,
        prices=prices,
        reasoning=reasoning,
        max_tokens=override.max_output or facts.max_tokens,
        max_output=most,
        temperature=facts.temperature,
        sealed_reasoning=facts.sealed_reasoning,
        all_turns=facts.all_turns,
        images=images,
        pdf=facts.pdf,
    )


def window_of(name: str, overrides: Overrides = NO_OVERRIDES) -> int:
    """Return the context window of PROVIDER:MODEL in tokens, 0 if unknown."""
    return facts_of(name, overrides=overrides).context_window


def model_names(provider: str) -> tuple[str, ...]:
    """Return the provider's models in the table; none for an unknown provider."""
    table_name = _TABLE_NAMES.get(provider, provider)
    return tuple(row.id for row in _rows(table_name)) if table_name in model_table().models else ()


def cost_of(facts: ModelFacts, usage: Usage, *, at: dt.datetime | None = None, service_tier: str = "") -> str | None:
    """Return the price of a request in US dollars as a decimal string, None if unknown.

    `at` is when it was sent, by default now; `service_tier` is the one that the provider says it used.
    """
    return None if facts.prices is None else price_of(facts.prices, usage, at=at, service_tier=service_tier)


def _row_of(provider: str, model: str) -> ModelRow | None:
    table, table_name = model_table(), _TABLE_NAMES.get(provider, provider)
    if table_name not in table.models:
        return None
    for name in dict.fromkeys((model, _with_dashes(model))):
        for source in (table_name, *table.fallbacks.get(table_name, ())):
            for row in _rows(source):
                if row.fits(name):  # another provider's service tiers are not sold here
                    return row if source == table_name else msgspec.structs.replace(row, tiers=())
    return None


def _with_dashes(model: str) -> str:
    """Return the name with the date of its suffix written with dashes."""

    def with_dashes(found: re.Match[str]) -> str:
        _, year, month, day = found.groups()
        try:
            dt.date(int(year), int(month), int(day))
        except ValueError:
            return found[0]
        return f"-{year}-{month}-{day}"

    return _DATE.sub(with_dashes, model)


@functools.cache
def _rows(provider: str) -> tuple[ModelRow, ...]:
    return decode_json(model_table().models[provider], tuple[ModelRow, ...])


@functools.cache
def _rules(family: str) -> tuple[FamilyRule, ...]:
    return decode_json(model_table().families[family], tuple[FamilyRule, ...])


def _rule_of(provider: str, model: str, kind: ProtocolKind | None) -> FamilyRule | None:
    """Return the rule with the model's traits, None if its family is unknown."""
    family = _FAMILY_OF.get(provider, provider)
    if family not in model_table().families:
        if kind is None:
            return None
        family = _FAMILY_OF_KIND[kind]
    if family == "anthropic" and (bedrock := _BEDROCK.fullmatch(model)):
        model = bedrock[1]
    if family == "openrouter":  # an alias, and a tag such as :free
        model = model.removeprefix("~").partition(":")[0]
    return next((rule for rule in _rules(family) if rule.name.fits(model)), None)


def _user_prices(override: ModelOverrides) -> Prices | None:
    """Return the user's own prices, None without them."""
    if override.input_price is None or override.output_price is None:
        return None
    amounts = (override.input_price, override.output_price, override.cache_read_price, override.cache_write_price)
    costs = [None if each is None else f"{each:.12f}".rstrip("0").rstrip(".") for each in amounts]
    return Prices(rates=(Rates(input=costs[0], output=costs[1], cache_read=costs[2], cache_write=costs[3]),))


def _user_reasoning(override: ModelOverrides, default: Reasoning) -> Reasoning:
    """Return the kind of reasoning that the user set; its levels are those of the table if the kind is the same."""
    if override.reasoning is None or override.reasoning == default.kind:
        return default
    levels = ("low", "medium", "high") if override.reasoning in ("effort", "adaptive", "level") else ()
    return Reasoning(kind=override.reasoning, levels=levels, checked=False)
