"""The table of models: `python bench/model_facts.py` writes `src/holdfast/providers/models.json`.

Windows, names and prices are those of genai-prices, as they apply from the day of the table on. `model_families.py` has
what models accept. The laws of `tests/providers/test_model_table_laws.py` compare both with the originals.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version

import msgspec
from genai_prices import types as genai
from genai_prices.data import providers as sold

from holdfast.providers.model_table import TABLE, FamilyRule, ModelRow, NamePattern, Rate, Rates, TieredRate, TierRates
from model_families import FAMILIES, family_rules

SOURCES = ("genai-prices", "pydantic-ai-slim")
SELLERS: Mapping[str, str] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "openrouter": "openrouter",
    "groq": "groq",
    "xai": "x-ai",
    "bedrock": "aws",
    "azure": "azure",
}
"""holdfast's providers, and what genai-prices calls them."""

KINDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}


def model_rows(seller: str, today: dt.date) -> list[ModelRow]:
    """Return the models of one provider of genai-prices, in its order; of Amazon's only the Claudes."""
    models = next(each.models for each in sold if each.id == seller)
    return [_row(each, today) for each in models if seller != "aws" or "claude" in each.id]


def _row(model: genai.ModelInfo, today: dt.date) -> ModelRow:
    names, patterns = _names(model.match)
    conditional = model.prices if isinstance(model.prices, list) else [genai.ConditionalPrice(prices=model.prices)]
    rates = tuple(_rates(each.prices, each.constraint, today) for each in conditional)
    always = [at for at, each in enumerate(rates) if each.since is None and each.hours is None]
    rates = rates[always[-1] :] if always else rates
    priced = rates if any(_sells_tokens(each) for each in rates) else ()
    return ModelRow(
        id=model.id.lower(),
        names=None if names == (model.id.lower(),) else names,
        match=patterns,
        window=model.context_window or 0,
        rates=priced,
        tiers=tuple(_tiers(model, today)) if priced else (),
    )


def _tiers(model: genai.ModelInfo, today: dt.date) -> Iterator[TierRates]:
    for each in model.price_variants or ():
        rates = _rates(each.prices, each.constraint, today)
        if each.when.keys() == {"service_tier"} and _sells_tokens(rates):
            yield TierRates(service_tier=each.when["service_tier"], **msgspec.structs.asdict(rates))


def _sells_tokens(rates: Rates) -> bool:
    return any(each is not None for each in (rates.input, rates.output, rates.cache_read, rates.cache_write))


def _rates(
    prices: genai.ModelPrice,
    constraint: genai.StartDateConstraint | genai.TimeOfDateConstraint | None,
    today: dt.date,
) -> Rates:
    if prices.requests_kcount is not None:
        raise ValueError(f"{prices} charges for requests: the table has no such rate.")
    since, hours = None, None
    match constraint:
        case genai.StartDateConstraint(start_date=start):
            since = start if start > today else None
        case genai.TimeOfDateConstraint(start_time=start, end_time=end):
            if {each.tzinfo for each in (start, end)} - {None, dt.UTC}:
                raise ValueError(f"{constraint} is not in UTC: the table has no other time.")
            hours = (start.replace(tzinfo=None), end.replace(tzinfo=None))
        case None:
            pass
    rates = {kind: _rate(getattr(prices, key)) for kind, key in KINDS.items()}
    return Rates(**rates, since=since, hours=hours)


def _rate(price: object) -> Rate | None:
    match price:
        case None:
            return None
        case genai.TieredPrices(base=base, tiers=tiers):
            return TieredRate(base=str(base), above=tuple((each.start, str(each.price)) for each in tiers))
        case _:
            return str(price)


def _names(clause: genai.MatchLogic) -> tuple[tuple[str, ...], tuple[NamePattern, ...]]:
    """Return the names that a clause lists, and its patterns."""
    parts = clause.or_ if isinstance(clause, genai.ClauseOr) else [clause]
    names = tuple(each.equals.lower() for each in parts if isinstance(each, genai.ClauseEquals))
    return names, tuple(_pattern(each) for each in parts if not isinstance(each, genai.ClauseEquals))


def _pattern(clause: genai.MatchLogic) -> NamePattern:
    match clause:
        case genai.ClauseEquals(equals=text):
            found = NamePattern(equals=text.lower())
        case genai.ClauseStartsWith(starts_with=text):
            found = NamePattern(starts_with=text.lower())
        case genai.ClauseEndsWith(ends_with=text):
            found = NamePattern(ends_with=text.lower())
        case genai.ClauseContains(contains=text):
            found = NamePattern(contains=text.lower())
        case genai.ClauseRegex(regex=text):
            found = NamePattern(regex=text)
        case genai.ClauseOr(or_=clauses):
            found = NamePattern(any_of=tuple(_pattern(each) for each in clauses))
        case genai.ClauseAnd(and_=clauses):
            found = NamePattern(all_of=tuple(_pattern(each) for each in clauses))
    return found


def written(today: dt.date) -> bytes:
    """Return the file of that day, one model or rule to a line."""
    fallbacks = {
        ours: [mine for mine, other in SELLERS.items() if other in (each.fallback_model_providers or ())]
        for ours, theirs in SELLERS.items()
        for each in sold
        if each.id == theirs and each.fallback_model_providers
    }
    order = {each: at for at, each in enumerate(SELLERS)}
    fallbacks = {ours: sorted(others, key=order.__getitem__) for ours, others in fallbacks.items()}
    head = {"date": today, "sources": {name: version(name) for name in SOURCES}, "fallbacks": fallbacks}
    models = {ours: model_rows(theirs, today) for ours, theirs in SELLERS.items()}
    families = {family: family_rules(family) for family in FAMILIES}
    lines = [*(f'"{key}": {msgspec.json.encode(value).decode()}' for key, value in head.items())]
    lines += [f'"models": {_listed(models)}', f'"families": {_listed(families)}']
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _listed(parts: Mapping[str, Sequence[ModelRow] | Sequence[FamilyRule]]) -> str:
    texts = [
        f'"{name}": [\n' + ",\n".join(msgspec.json.encode(each).decode() for each in rows) + "\n]"
        for name, rows in parts.items()
    ]
    return "{\n" + ",\n".join(texts) + "\n}"


def main() -> None:
    """Write the file; its date changes only if its content does."""
    committed = TABLE.read_bytes() if TABLE.exists() else b""
    found = re.search(rb'"date": "(\d{4}-\d\d-\d\d)"', committed)
    if found and committed == written(dt.date.fromisoformat(found[1].decode())):
        print(f"{TABLE.name} of {found[1].decode()} is up to date.")
        return
    today = dt.datetime.now(dt.UTC).date()
    TABLE.write_bytes(written(today))
    print(f"{TABLE.name} of {today}: {TABLE.stat().st_size:,} bytes.")


if __name__ == "__main__":
    main()
