"""Refuses a cost limit for models whose prices are not known: it could not be enforced."""

from __future__ import annotations

from holdfast.errors import UsageError
from holdfast.providers.model_table import facts_of
from holdfast.providers.registry import split
from holdfast.ui.startup.run_options import RunOptions


def refuse_unpriced(options: RunOptions) -> None:
    """Raise `UsageError` if the run has a cost limit and one of its models has no known price.

    A provider that reports the cost of each response needs no price.
    """
    if options.limits.max_cost is None:
        return
    for name in filter(None, (options.model, options.fallback)):
        provider, model = split(name, options.providers)
        overrides = {name: provider.overrides_of(model)}
        reports = provider.kind == "openai-chat" and provider.compat.reports_cost
        if not reports and facts_of(name, kind=provider.kind, overrides=overrides).prices is None:
            raise UsageError(
                f"--max-cost cannot be enforced: the price of {name!r} is not known. Set `input_price` and "
                f'`output_price` in [models."{name}"] of the config (0 if it costs nothing), or leave out the limit.'
            )
