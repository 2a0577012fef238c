"""What a request costs: the rates of a model, and the arithmetic of genai-prices over them.

A model has several sets of rates if its price changes by date or by time of day: the last one that applies counts. A
rate may depend on the size of the input: above a threshold, all tokens cost the higher rate. Cached tokens are part of
the input and are charged at their own rate, or at the rate of the input if the model has none for them.

Laws (`tests/providers/test_model_table_laws.py`): `price_of` gives what genai-prices gives for the same model, tokens,
time and service tier.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import msgspec

from holdfast.session.journal.parts import Usage

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
