"""Texts about a model: its window and price, and a remark about an incomplete list of models."""

from __future__ import annotations

from holdfast.providers.known_models import KnownModels
from holdfast.providers.model_pages import ListedModel
from holdfast.ui.view.columns import count_noun

_THOUSAND = 1_000
_MILLION = 1_000_000


def window_text(tokens: int) -> str:
    """Return a readable window, "" if it is unknown."""
    if not tokens:
        return ""
    if tokens < _MILLION:
        return f"{max(tokens // _THOUSAND, 1)}k"
    return f"{tokens / _MILLION:.1f}M".replace(".0M", "M")


def price_text(model: ListedModel) -> str:
    """Return the price per million tokens, "" if it is unknown."""
    if model.input_price is None or model.output_price is None:
        return ""
    return f"${model.input_price:g} in, ${model.output_price:g} out"


def remark(known: KnownModels) -> str:
    """Return a remark about the list for the user, "" if there is none."""
    if known.missing:
        shown = "an earlier list and holdfast's own" if known.source == "cache" else "holdfast's own list"
        return f"{known.missing} Shown: {shown}."
    if known.unusable:
        return f"{known.provider} lists {count_noun(known.unusable, 'model')} without a usable name."
    return ""
