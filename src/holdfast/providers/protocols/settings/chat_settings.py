"""The settings over Chat Completions, in the dialect of the server."""

from __future__ import annotations

from holdfast.providers.catalog import Compat
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


def chat_settings(settings: ModelSettings, facts: ModelFacts, compat: Compat, *, tools: bool) -> SentSettings:
    """Return the settings to send; `tools` is whether the request has tools."""
    in_template = compat.effort == "chat_template_kwargs"
    effort = chosen_effort(settings.effort, facts, stops=in_template)
    if tools and effort.state == "on" and facts.name.partition(":")[2].startswith(compat.no_effort_with_tools):
        effort = _without_effort(facts)
    temperature, temperature_note = chosen_temperature(settings.temperature, facts, reasons=effort.reasons(facts))
    limit, limit_note = chosen_limit(settings.max_output, facts)
    tier, tier_note = chosen_tier(settings.service_tier, facts, compat.service_tiers)
    fields = {
        **_effort(effort, facts, compat),
        "temperature": temperature,
        compat.output_limit: limit,
        "service_tier": tier,
    }
    return SentSettings(
        fields=drop_none(fields), notes=non_empty_notes(effort.note, temperature_note, limit_note, tier_note)
    )


def _without_effort(facts: ModelFacts) -> ChosenEffort:
    """Return the effort for a model that takes none together with tools."""
    what = f"{facts.name} takes no effort together with tools over Chat Completions"
    advice = f"Use openai:{facts.name.partition(':')[2]} for it."
    if facts.reasoning.off:
        return ChosenEffort("off", note=f"{what}: effort {facts.reasoning.off!r} is sent. {advice}")
    return ChosenEffort("unset", note=f"{what}: none is sent. {advice}")


def _effort(effort: ChosenEffort, facts: ModelFacts, compat: Compat) -> dict[str, object]:
    if effort.state == "unset":
        return {}
    level = effort.level if effort.state == "on" else facts.reasoning.off
    match compat.effort:
        case "reasoning_effort":
            return {"reasoning_effort": level}
        case "reasoning":
            return {"reasoning": {"effort": level}}
        case "chat_template_kwargs":  # templates ignore fields that they do not know
            on = {"enable_thinking": True, "reasoning_effort": level}
            return {"chat_template_kwargs": on if effort.state == "on" else {"enable_thinking": False}}
