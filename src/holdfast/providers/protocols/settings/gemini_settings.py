"""The settings over Gemini: in `generationConfig`, and the service tier next to it."""

from __future__ import annotations

from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.settings.sent_settings import (
    ChosenEffort,
    SentSettings,
    chosen_effort,
    chosen_limit,
    chosen_temperature,
    chosen_tier,
    drop_none,
    non_empty_notes,
)
from holdfast.session.journal.model_settings import ModelSettings

_TIERS = ("standard", "flex", "priority")
_BUDGETS = {"minimal": 512, "low": 2_048, "medium": 8_192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
"""Tokens to think with: every model with a budget takes 512 to 24,576 (ai.google.dev, "Thinking")."""


def gemini_settings(settings: ModelSettings, facts: ModelFacts) -> SentSettings:
    """Return the settings to send."""
    effort = chosen_effort(settings.effort, facts)
    temperature, temperature_note = chosen_temperature(settings.temperature, facts, reasons=effort.reasons(facts))
    limit, limit_note = chosen_limit(settings.max_output, facts)
    tier, tier_note = chosen_tier(settings.service_tier, facts, _TIERS)
    config = drop_none(
        {"temperature": temperature, "maxOutputTokens": limit, "thinkingConfig": _thinking(effort, facts)}
    )
    fields = {"generationConfig": config or None, "serviceTier": tier}
    return SentSettings(
        fields=drop_none(fields), notes=non_empty_notes(effort.note, temperature_note, limit_note, tier_note)
    )


def _thinking(effort: ChosenEffort, facts: ModelFacts) -> dict[str, object] | None:
    match effort.state:
        case "unset":
            return None
        case "off":
            return {"thinkingBudget": 0}
        case "on" if facts.reasoning.kind == "budget":
            return {"thinkingBudget": _BUDGETS[effort.level]}
        case "on":
            return {"thinkingLevel": effort.level.upper()}
