"""The table of models says what genai-prices and pydantic-ai's profiles say, of listed names and of any other."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ClauseEquals, ClauseOr, ModelInfo, ModelPrice, TieredPrices
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic_ai import messages as pai
from pydantic_ai.models.anthropic import _default_max_tokens  # pyright: ignore[reportPrivateUsage] - what it would send
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from holdfast.providers.model_table import TABLE, ModelFacts, cost_of, facts_of, model_table, window_of
from holdfast.session.journal.parts import Usage
from laws import law
from model_facts import KINDS, SELLERS, written
from model_families import FAMILIES, openrouter_prefixes, prefixes
from tiers import some

COUNTS = st.integers(0, 2_000_000)


def usage_of(fresh: int, read: int, wrote: int, output: int) -> Usage:
    return Usage(
        input_tokens=fresh + read + wrote, output_tokens=output, cache_read_tokens=read, cache_write_tokens=wrote
    )


USAGES = st.builds(usage_of, COUNTS, COUNTS, COUNTS, COUNTS)
WRONG_USAGES = st.builds(
    Usage, input_tokens=COUNTS, output_tokens=COUNTS, cache_read_tokens=COUNTS, cache_write_tokens=COUNTS
)
DAY = dt.datetime.combine(model_table().date, dt.time(), dt.UTC)
MOMENTS = st.datetimes(DAY.replace(tzinfo=None), dt.datetime(2030, 1, 1), timezones=st.just(dt.UTC))  # noqa: DTZ001 - Hypothesis adds it
TIERS = st.sampled_from(["", "default", "flex", "priority", "fast", "standard", "no-such"])
PART_OF_A_NAME = st.text("abcz019-.:/@", max_size=12)


@cache
def listed(provider: str) -> tuple[str, ...]:
    """Return the ids of genai-prices' models of a provider, and the names that it lists for them."""
    models = next(each.models for each in get_snapshot().providers if each.id == SELLERS[provider])
    if provider == "bedrock":
        models = [each for each in models if "claude" in each.id]
    return tuple(dict.fromkeys(name for model in models for name in (model.id, *names_in(model))))


def names_in(model: ModelInfo) -> Iterator[str]:
    for clause in model.match.or_ if isinstance(model.match, ClauseOr) else [model.match]:
        yield from (str(value) for key, value in vars(clause).items() if key not in ("or_", "and_", "regex"))
        if isinstance(clause, ClauseEquals):
            yield clause.equals.upper()


@st.composite
def names(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a provider, and the name of a model: a listed one, one that resembles it, or any other."""
    provider = draw(st.sampled_from(sorted(SELLERS)))
    name = draw(st.sampled_from(listed(provider)))
    ending = st.one_of(
        st.sampled_from(["", "", "-20260203", "-2026-02-03", "-20261399", "-latest", ":free", "-v1:0"]), PART_OF_A_NAME
    )
    beginning = st.one_of(st.just(""), st.sampled_from(["us.", "~", "x/"]), PART_OF_A_NAME)
    model = draw(beginning) + name[: draw(st.just(len(name)) | st.integers(0, len(name)))] + draw(ending)
    return provider, model or "m"


def sold(provider: str, model: str) -> tuple[Any, ModelInfo] | None:
    """Return what genai-prices finds, unless it is of a provider that the table leaves out."""
    try:
        seller, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None
    others = [each for each in get_snapshot().providers if each.id in SELLERS.values()]
    is_sold = any(found is each for other in others for each in other.models)
    return (seller, found) if is_sold and (provider != "bedrock" or "claude" in found.id) else None


def sells_tokens(found: ModelInfo) -> bool:
    """Return whether any price of a model is one of tokens; for others genai-prices computes a price of 0."""
    prices = [found.prices] if isinstance(found.prices, ModelPrice) else [each.prices for each in found.prices]
    return any(getattr(each, key) is not None for each in prices for key in KINDS.values())


def todays_price(provider: str, model: str, usage: Usage, moment: dt.datetime, tier: str) -> Decimal | None:
    """Return what pydantic-ai says that a response costs."""
    response = pai.ModelResponse(
        parts=[],
        model_name=model,
        provider_name=provider,
        timestamp=moment,
        usage=RequestUsage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        ),
        provider_details={"service_tier": tier} if tier else None,
    )
    try:
        return response.cost().total_price
    except (LookupError, ValueError):
        return None


def expect_same_price(provider: str, model: str, usage: Usage, moment: dt.datetime, tier: str) -> None:
    facts = facts_of(f"{provider}:{model}")
    ours = cost_of(facts, usage, at=moment, service_tier=tier)
    found = sold(provider, model)
    if found is None or not sells_tokens(found[1]):
        assert ours is None
    else:
        todays = todays_price(provider, model, usage, moment, tier)
        assert (ours and Decimal(ours)) == todays  # 3 is 3.0


@law()
@given(name=names(), usage=st.one_of(USAGES, WRONG_USAGES), moment=MOMENTS, tier=TIERS)
@example(("azure", "gpt-5.5"), Usage(input_tokens=300_000), DAY, "flex")  # another provider's service tier
@example(("deepseek", "deepseek-v4-pro"), Usage(input_tokens=300_000), DAY + dt.timedelta(hours=2), "")
def test_a_price_is_that_of_genai_prices(name: tuple[str, str], usage: Usage, moment: dt.datetime, tier: str) -> None:
    expect_same_price(*name, usage, moment, tier)


@pytest.mark.parametrize("provider", SELLERS)
def test_every_listed_model_has_its_price_and_its_window(provider: str) -> None:
    small = Usage(input_tokens=2_000, output_tokens=300, cache_read_tokens=1_000, cache_write_tokens=500)
    large = Usage(input_tokens=900_000, output_tokens=3, cache_read_tokens=300_000, cache_write_tokens=7)
    for (model,) in some([(model,) for model in listed(provider)], 60):
        expect_same_price(provider, model, small, DAY, "")
        expect_same_price(provider, model, large, DAY + dt.timedelta(days=400), "priority")
        found = sold(provider, model)
        assert window_of(f"{provider}:{model}") == (found[1].context_window or 0 if found else 0)


def test_every_tier_is_tried() -> None:
    """What the law above needs to be more than a comparison of products."""
    tiered = [
        price
        for provider in SELLERS
        for model in listed(provider)
        if (found := sold(provider, model)) and isinstance(found[1].prices, ModelPrice)
        for price in vars(found[1].prices).values()
        if isinstance(price, TieredPrices)
    ]
    assert {tier.start for price in tiered for tier in price.tiers} >= {200_000, 272_000}


@law(200)
@given(names())
def test_a_model_is_found_where_genai_prices_finds_it(name: tuple[str, str]) -> None:
    provider, model = name
    found = sold(provider, model)
    facts = facts_of(f"{provider}:{model}")
    assert facts.known == (found is not None)
    assert facts.context_window == (found[1].context_window or 0 if found else 0)


@cache
def beginnings(family: str) -> tuple[str, ...]:
    found = openrouter_prefixes() if family == "openrouter" else prefixes(FAMILIES[family][1])
    return tuple(dict.fromkeys([*found, *(listed(family) if family in SELLERS else listed("openai"))]))


def accepted(facts: ModelFacts) -> tuple[object, ...]:
    return (
        facts.reasoning, facts.max_tokens, facts.max_output, facts.temperature, facts.sealed_reasoning, facts.all_turns,
    )  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@law(100, shared_by=2)
@given(data=st.data())
def test_what_a_model_accepts_is_what_its_profile_says(family: str, data: st.DataObject) -> None:
    begin = data.draw(st.sampled_from(beginnings(family)))
    ending = data.draw(st.sampled_from(["", "-pro", "-flash", "-mini", "-2026-02-03"]) | PART_OF_A_NAME)
    model = (begin + ending).lower()
    if family == "openrouter":
        model = model.removeprefix("~").partition(":")[0]
    profile = FAMILIES[family][0](model)
    facts = facts_of(f"{family}:{model}")
    expected = (
        profile.reasoning, profile.max_tokens, profile.max_output, profile.temperature,
        profile.sealed_reasoning, profile.all_turns,
    )  # fmt: skip
    assert accepted(facts) == expected


@law(60)
@given(st.sampled_from(beginnings("anthropic")), PART_OF_A_NAME)
def test_an_answer_of_claude_may_be_as_long_as_today(begin: str, ending: str) -> None:
    profile: Any = AnthropicProvider.model_profile(begin + ending)
    assert facts_of(f"anthropic:{begin}{ending}").max_tokens == _default_max_tokens({}, profile)
    amazons = f"anthropic.{begin}{ending}"
    profile = AnthropicProvider.model_profile(amazons)
    assert facts_of(f"bedrock:{amazons}").max_tokens == _default_max_tokens({}, profile)


@law(60)
@given(st.sampled_from(beginnings("openai")), PART_OF_A_NAME)
def test_reasoning_of_openai_is_asked_for_as_today(begin: str, ending: str) -> None:
    profile: Any = OpenAIProvider.model_profile(begin + ending)
    facts = facts_of(f"openai:{begin}{ending}")
    assert facts.sealed_reasoning == profile["openai_supports_encrypted_reasoning_content"]
    assert facts.all_turns == profile["openai_responses_supports_reasoning_context"]


def test_the_table_is_what_is_made_of_the_packages_that_are_installed() -> None:
    """Where it fails, a package has changed: run `make models`, and read the change."""
    assert TABLE.read_bytes() == written(model_table().date)
