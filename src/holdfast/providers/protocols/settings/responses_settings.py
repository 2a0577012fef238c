"""The settings over OpenAI Responses.

No summary of the reasoning is asked for: OpenAI refuses that to organizations that it has not verified ("Your
organization must be verified to generate reasoning summaries"). Who is verified sets `reasoning = { summary = "auto" }`
in `extra_body`.
"""

from __future__ import annotations

from holdfast.providers.catalog.compat import Compat
from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.settings.sent_settings import (
    SentSettings,
    chosen_effort,
    chosen_limit,
    chosen_temperature,
    chosen_tier,
    stated,
    without_nothing,
)
from holdfast.session.journal.model_settings import ModelSettings

_LEAST_LIMIT = 16
"""The smallest `max_output_tokens` that OpenAI accepts."""


def responses_settings(settings: ModelSettings, facts: ModelFacts, compat: Compat) -> SentSettings:
    """Return what is sent."""
    effort = chosen_effort(settings.effort, facts)
    temperature, cold = chosen_temperature(settings.temperature, facts, reasons=effort.reasons(facts))
    limit, limited = chosen_limit(settings.max_output, facts, least=_LEAST_LIMIT)
    tier, tierless = chosen_tier(settings.service_tier, facts, compat.service_tiers)
    level = effort.level if effort.state == "on" else facts.reasoning.off
    fields = {
        "reasoning": None if effort.state == "unset" else {"effort": level},
        "temperature": temperature,
        "max_output_tokens": limit,
        "service_tier": tier,
    }
    return SentSettings(fields=without_nothing(fields), notes=stated(effort.note, cold, limited, tierless))
