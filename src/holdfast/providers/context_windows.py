"""Context windows of models, from genai-prices, which pydantic-ai installs for its prices."""

from __future__ import annotations

_PRICED_AS = {"openai-chat": "openai"}
"""holdfast's provider names that differ from those of genai-prices."""


def window_of(name: str) -> int:
    """Return the context window of PROVIDER:MODEL in tokens, 0 if unknown.

    The import takes a quarter of a second, so do not call this on an event loop.
    """
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - asked for later than it is imported

    provider, _, model = name.partition(":")
    try:
        _, known = get_snapshot().find_provider_model(model, None, _PRICED_AS.get(provider, provider), None)
    except LookupError:
        return 0
    return known.context_window or 0
