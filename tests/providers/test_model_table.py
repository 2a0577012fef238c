"""What is known of models: of listed ones, of newer ones, of those at home, and what the user says of them."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from typing import Any

import pytest

from holdfast.config.model_servers import ModelOverrides, ProtocolKind
from holdfast.providers.model_table import (
    Prices,
    Rates,
    Reasoning,
    TieredRate,
    TierRates,
    cost_of,
    facts_of,
    model_table,
    price_of,
    window_of,
)
from holdfast.session.journal.parts import Usage

DAY = dt.datetime(2027, 1, 1, 12, tzinfo=dt.UTC)
MILLION = Usage(input_tokens=1_000_000)


@pytest.mark.parametrize("name", ["anthropic:claude-sonnet-4-5", "openai-chat:gpt-5", "openrouter:openai/gpt-5"])
def test_a_known_window(name: str) -> None:
    assert window_of(name) >= 100_000


@pytest.mark.parametrize("name", ["demo", "nobody:nothing", "anthropic:no-such-model", "home:claude-sonnet-4-5", ""])
def test_an_unknown_window_is_none(name: str) -> None:
    assert window_of(name) == 0


def test_nothing_is_imported_to_read_it() -> None:
    code = (
        "import sys; from holdfast.providers.model_table import facts_of; assert facts_of('openai:gpt-5.5').known\n"
        "print(*(each for each in sys.modules if each.split('.')[0] in ('genai_prices', 'pydantic', 'pydantic_ai')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_its_sources_are_named() -> None:
    assert model_table().sources.keys() == {"genai-prices", "pydantic-ai-slim"}


@pytest.mark.parametrize(
    ("name", "reasoning"),
    [
        ("openai:gpt-4o", Reasoning()),
        ("openai:o3", Reasoning(kind="effort", levels=("low", "medium", "high"), by_default=True)),
        (
            "openai:gpt-5.6-sol",
            Reasoning(
                kind="effort",
                levels=("low", "medium", "high", "xhigh", "max"),
                off="none",
                checked=False,
                by_default=True,
            ),
        ),
        ("anthropic:claude-3-haiku-20240307", Reasoning()),
        ("anthropic:claude-sonnet-4-5", Reasoning(kind="budget", off="disabled", by_default=False)),
        (
            "anthropic:claude-opus-4-5",
            Reasoning(kind="budget", levels=("low", "medium", "high"), off="disabled", by_default=False),
        ),
        (
            "anthropic:claude-sonnet-5-5",
            Reasoning(
                kind="adaptive",
                levels=("low", "medium", "high", "xhigh", "max"),
                off="between_tools",
                by_default=True,
            ),
        ),
        ("google:gemini-2.5-pro", Reasoning(kind="budget")),
        ("google:gemini-2.5-flash", Reasoning(kind="budget", off="0")),
        ("google:gemini-3.8-flash", Reasoning(kind="level", levels=("low", "medium", "high"), by_default=True)),
        ("mistral:magistral-small-2509", Reasoning(kind="always", by_default=True)),
        ("mistral:mistral-medium-latest", Reasoning(kind="effort", levels=("high",), off="none")),
    ],
)
def test_each_kind_of_reasoning(name: str, reasoning: Reasoning) -> None:
    assert facts_of(name).reasoning == reasoning


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("anthropic:claude-sonnet-5-5", 128_000),
        ("anthropic:claude-haiku-4-5-20251001", 64_000),
        ("anthropic:claude-sonnet-4-0", 4_096),
        ("anthropic:claude-of-another-name", 16_384),
        ("bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0", 64_000),
        ("bedrock:anthropic.claude-sonnet-5-5", 128_000),
        ("openai:gpt-5.5", None),
    ],
)
def test_what_a_request_says_of_the_length_of_the_answer(name: str, tokens: int | None) -> None:
    assert facts_of(name).max_tokens == tokens


@pytest.mark.parametrize(
    ("name", "temperature"),
    [
        ("openai:gpt-4o", "any"),
        ("openai:o3", "refused"),
        ("openai:gpt-5.5", "while-not-reasoning"),
        ("anthropic:claude-opus-4-8", "refused"),
        ("anthropic:claude-sonnet-4-5", "any"),
    ],
)
def test_which_models_refuse_a_temperature(name: str, temperature: str) -> None:
    assert facts_of(name).temperature == temperature


@pytest.mark.parametrize(
    ("name", "kind", "accepted"),
    [
        ("work:claude-haiku-4-5", "anthropic", (64_000, False)),
        ("amazon:gpt-5.5", "openai-responses", (None, True)),
        ("home:gpt-5.5", None, (None, False)),
    ],
)
def test_a_server_of_ones_own_has_the_facts_of_its_protocol_and_no_price(
    name: str, kind: ProtocolKind | None, accepted: tuple[int | None, bool]
) -> None:
    facts = facts_of(name, kind=kind)
    assert (facts.max_tokens, facts.sealed_reasoning) == accepted
    assert (facts.known, facts.prices, facts.context_window) == (False, None, 0)
    assert cost_of(facts, MILLION) is None


def test_what_is_assumed_is_named() -> None:
    assert facts_of("home:m").assumed == ("context_window", "prices", "reasoning", "max_output", "images", "pdf")
    assert facts_of("anthropic:claude-sonnet-5-5").assumed == ("images", "pdf")
    newer = facts_of("anthropic:claude-opus-5-9")  # its family is known
    assert (newer.known, newer.assumed) == (False, ("context_window", "prices", "images", "pdf"))
    assert newer.reasoning == facts_of("anthropic:claude-opus-5").reasoning


# --- what the user says ----------------------------------------------------------------------------------------------

OVERRIDES: dict[str, ModelOverrides] = {
    "home:m": ModelOverrides(context_window=32_000, input_price=1, output_price=2.5, images=False, reasoning="effort"),
    "anthropic:claude-sonnet-5-5": ModelOverrides(
        max_output=9_000, input_price=0.1, output_price=0, cache_read_price=0
    ),
}


def test_what_the_user_says_wins() -> None:
    home = facts_of("home:m", overrides=OVERRIDES)
    assert (home.context_window, home.images, home.reasoning.kind) == (32_000, False, "effort")
    assert home.assumed == ("max_output", "pdf")
    assert cost_of(home, Usage(input_tokens=2_000_000, output_tokens=1_000_000, cache_read_tokens=9)) == "4.5"
    known = facts_of("anthropic:claude-sonnet-5-5", overrides=OVERRIDES)
    assert (known.max_tokens, known.max_output) == (9_000, 9_000)
    assert known.reasoning == facts_of("anthropic:claude-sonnet-5-5").reasoning
    assert cost_of(known, Usage(input_tokens=3_000_000, cache_read_tokens=1_000_000)) == "0.2"
    assert facts_of("home:other", overrides=OVERRIDES) == facts_of("home:other")
    assert window_of("home:m", OVERRIDES) == 32_000


def test_a_small_price_is_written_out() -> None:
    small = {"home:m": ModelOverrides(input_price=0.00005, output_price=0)}
    prices = facts_of("home:m", overrides=small).prices
    assert prices == Prices(rates=(Rates(input="0.00005", output="0"),))


def test_reasoning_of_another_kind_has_no_levels_of_the_table() -> None:
    def reasoning_of(kind: Any) -> Reasoning:
        return facts_of("openai:o3", overrides={"openai:o3": ModelOverrides(reasoning=kind)}).reasoning

    assert reasoning_of("none") == Reasoning(checked=False)
    assert reasoning_of("effort") == facts_of("openai:o3").reasoning
    assert reasoning_of("level") == Reasoning(kind="level", levels=("low", "medium", "high"), checked=False)


# --- prices ----------------------------------------------------------------------------------------------------------


def test_counts_that_contradict_each_other_have_no_price() -> None:
    facts = facts_of("anthropic:claude-sonnet-5-5")
    assert cost_of(facts, Usage(input_tokens=5, cache_read_tokens=3, cache_write_tokens=3)) is None
    assert cost_of(facts, Usage(input_tokens=6, cache_read_tokens=3, cache_write_tokens=3)) is not None


def test_a_price_changes_by_date_by_the_hour_and_above_a_size() -> None:
    prices = Prices(
        rates=(
            Rates(input=TieredRate(base="1", above=((2_000_000, "2"), (4_000_000, "3")))),
            Rates(input="10", hours=(dt.time(22), dt.time(2))),
            Rates(input="20", since=dt.date(2027, 6, 1)),
        ),
        tiers=(TierRates(service_tier="flex", input="0.5"),),
    )

    def costs(millions: int, at: dt.datetime = DAY, tier: str = "") -> str | None:
        return price_of(prices, Usage(input_tokens=millions * 1_000_000), at=at, service_tier=tier)

    assert [costs(each) for each in (1, 2, 3, 4, 5)] == ["1", "2", "6", "8", "15"]
    hours = [costs(1, DAY.replace(hour=each)) for each in (21, 22, 0, 1, 2)]
    assert hours == ["1", "10", "10", "10", "1"]
    assert (costs(1, dt.datetime(2027, 6, 1, tzinfo=dt.UTC)), costs(1, tier="flex")) == ("20", "0.5")
    there = dt.timezone(dt.timedelta(hours=9))
    assert costs(1, dt.datetime(2027, 1, 2, 7, tzinfo=there)) == "10"  # 22:00 in UTC


def test_a_model_that_is_not_sold_by_tokens_has_no_price() -> None:
    facts = facts_of("openai:whisper-1")
    assert (facts.known, cost_of(facts, MILLION)) == (True, None)


def test_now_is_when_a_request_was_sent() -> None:
    past, future = (dt.datetime.now(dt.UTC).date() + dt.timedelta(days=days) for days in (-2, 2))
    prices = Prices(rates=(Rates(input="1"), Rates(input="2", since=past), Rates(input="3", since=future)))
    assert price_of(prices, MILLION) == "2"
