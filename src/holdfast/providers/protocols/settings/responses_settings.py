"""The settings over OpenAI Responses.

No summary of the reasoning is requested: OpenAI refuses that to organizations that it has not verified ("Your
organization must be verified to generate reasoning summaries"). A verified user sets `reasoning = { summary = "auto" }`
in `extra_body`.
"""

from __future__ import annotations

from holdfast.providers.catalog import Compat
from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.settings.sent_settings import (
    SentSettings,
    chosen_effort,
    chosen_limit,
    chosen_temperature,
    chosen_tier,
    drop_none,
    non_empty_notes,
)
from holdfast.session.journal.model_settings import ModelSettings

_LEAST_LIMIT = 16
"""The smallest `max_output_tokens` that OpenAI accepts."""


def responses_settings(settings: ModelSettings, facts: ModelFacts, compat: Compat) -> SentSettings:
    """Return the settings to send."""
    effort = chosen_effort(settings.effort, facts)
    temperature, temperature_note = chosen_temperature(settings.temperature, facts, reasons=effort.reasons(facts))
    limit, limit_note = chosen_limit(settings.max_output, facts, least=_LEAST_LIMIT)
    tier, tier_note = chosen_tier(settings.service_tier, facts, compat.service_tiers)
    level = effort.level if effort.state == "on" else facts.reasoning.off
    fields = {
        "reasoning": None if effort.state == "unset" else {"effort": level},
        "temperature": temperature,
        "max_output_tokens": limit,
        "service_tier": tier,
    }
    return SentSettings(
        fields=drop_none(fields), notes=non_empty_notes(effort.note, temperature_note, limit_note, tier_note)
    )
