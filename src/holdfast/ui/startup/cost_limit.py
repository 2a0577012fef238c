"""A bound on what a run costs is kept only with models whose prices are known."""

from __future__ import annotations

from holdfast.errors import UsageError
from holdfast.providers.model_table import facts_of
from holdfast.providers.registry import split
from holdfast.ui.startup.run_options import RunOptions


def refuse_unpriced(options: RunOptions) -> None:
    """Raise `UsageError` if the run has a bound on its cost, and a model of it has no known price.

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
                f"--max-cost cannot be kept: the price of {name!r} is not known. Set `input_price` and `output_price` "
                f'in [models."{name}"] of the config (0 if it costs nothing), or leave out the limit.'
            )
