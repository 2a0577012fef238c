"""The models to offer for a provider: its own list, else the cached one, else the table of models.

If a provider cannot be reached, only its own list is missing, and `missing` says why.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from holdfast.config.settings import Limits
from holdfast.errors import ModelUnusable, ProviderFailed
from holdfast.providers.model_lists.pages import ListedModel
from holdfast.providers.model_lists.stored_lists import StoredLists
from holdfast.providers.model_table import facts_of, model_names
from holdfast.providers.provider_info import address_of
from holdfast.providers.registry import ModelEndpoint, Provider

ListSource = Literal["provider", "cache", "table"]
"""Where a list comes from: fetched now, fetched earlier, or holdfast's table of models."""


class KnownModels(msgspec.Struct, frozen=True, kw_only=True):
    """The models of a provider. `missing` says why its list is not a fresh one from the provider; "" if it is.

    `unusable` counts the entries of its list that name no model.
    """

    provider: str
    models: tuple[ListedModel, ...]
    source: ListSource
    missing: str = ""
    unusable: int = 0


def models_at_hand(provider: Provider, address: str, lists: StoredLists) -> KnownModels:
    """Return the provider's models without a request; `address` is its base URL, "" if unknown."""
    stored = lists.get(provider.name, address) if address else None
    if stored is not None and stored.fresh:
        return KnownModels(provider=provider.name, models=stored.models, source="cache")
    known = {model.id: model for model in stored.models} if stored is not None else {}
    for name in (provider.model, *(name for name, _ in provider.overrides), *model_names(provider.name)):
        if name:
            known.setdefault(name, ListedModel(id=name))
    source: ListSource = "cache" if stored is not None else "table"
    return KnownModels(provider=provider.name, models=tuple(known.values()), source=source)


async def listed_models(
    target: ModelEndpoint, limits: Limits, lists: StoredLists, *, refresh: bool = False
) -> KnownModels:
    """Return the models of the target's provider, as listed within the last day (unless `refresh`) or now.

    If the request fails, return `models_at_hand` with the reason.
    """
    from holdfast.providers.model_lists.model_list import fetch_models

    provider = target.provider
    address = target.address or address_of(provider, {})
    stored = lists.get(provider.name, address) if address and not refresh else None
    if stored is not None and stored.fresh:
        return KnownModels(provider=provider.name, models=stored.models, source="cache")
    if provider.through_pydantic_ai or not address:
        known = models_at_hand(provider, address, lists)
        return msgspec.structs.replace(known, missing=f"The models of {provider.name} could not be listed: no address.")
    try:
        page = await fetch_models(target, limits)
    except (ModelUnusable, ProviderFailed) as failed:
        return msgspec.structs.replace(models_at_hand(provider, address, lists), missing=str(failed))
    lists.keep(provider.name, address, page.models)
    return KnownModels(provider=provider.name, models=page.models, source="provider", unusable=page.unusable)


def with_facts(model: ListedModel, provider: Provider) -> ListedModel:
    """Return the model with the facts that the list omits; the user's config wins over the list."""
    name, override = f"{provider.name}:{model.id}", provider.overrides_of(model.id)
    facts = facts_of(name, kind=provider.kind, overrides={name: override})
    listed = override.input_price is None and model.input_price is not None
    rates = facts.prices.now() if facts.prices is not None and not listed else None
    return msgspec.structs.replace(
        model,
        window=override.context_window or model.window or facts.context_window,
        input_price=rates[0] if rates else model.input_price,
        output_price=rates[1] if rates else model.output_price,
    )
