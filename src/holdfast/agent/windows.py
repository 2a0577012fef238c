"""How much a model reads: the windows that genai-prices knows, which pydantic-ai brings for its prices."""

from __future__ import annotations

_PRICED_AS = {"openai-chat": "openai"}
"""Our names of providers whose prices go by another."""


def window_of(name: str) -> int:
    """Return how many tokens the model of PROVIDER:MODEL reads at most, 0 if that is not known.

    Its data takes a quarter of a second to import: not for an event loop.
    """
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - asked for later than it is imported

    provider, _, model = name.partition(":")
    try:
        _, known = get_snapshot().find_provider_model(model, None, _PRICED_AS.get(provider, provider), None)
    except LookupError:
        return 0
    return known.context_window or 0
