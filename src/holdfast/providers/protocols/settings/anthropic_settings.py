"""The settings over Anthropic Messages.

When thinking with a budget may begin. A loop of calls and results is one turn of the model's. If thinking is enabled,
Anthropic refuses the loop unless its first response begins with thinking ("Expected `thinking` or `redacted_thinking`,
but found `tool_use`"). So a budget is sent only if the loop began with thinking that is still sent, or if there is no
loop: an effort that is set in the middle of one counts from the next prompt. The same is true after a compaction, a
change of model and a lost signature, because only the messages decide. Adaptive thinking has no such rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.providers.model_table import ModelFacts
from holdfast.providers.protocols.settings.sent_settings import (
    ChosenEffort,
    SentSettings,
    chosen_effort,
    chosen_limit,
    chosen_temperature,
    chosen_tier,
    closest,
    drop_none,
    non_empty_notes,
)
from holdfast.session.conversation.conversation import AssistantMessage, ConversationMessage, UserMessage
from holdfast.session.journal.entries import Part
from holdfast.session.journal.model_settings import Effort, ModelSettings
from holdfast.session.journal.parts import TextPart, ThinkingPart

USUAL_LIMIT = 16_384
"""The limit of an answer's tokens for models that are not known; every model since Claude 3.7 accepts it."""

INTERLEAVED = "interleaved-thinking-2025-05-14"
"""The beta with which a model with a budget also thinks between calls."""

_TIERS = ("auto", "standard_only")
_LEAST_BUDGET = 1_024
_BUDGETS: dict[Effort, int] = {
    "minimal": 1_024,
    "low": 4_096,
    "medium": 10_000,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 60_000,
}
"""Tokens to think with; at most three quarters of the answer's limit are sent, so that there is room for the answer."""


def anthropic_settings(
    settings: ModelSettings, facts: ModelFacts, messages: Sequence[ConversationMessage], *, foreign: bool = False
) -> SentSettings:
    """Return the settings to send; `foreign` if the server is not Anthropic's own: its service tiers are unknown."""
    limit, limit_note = chosen_limit(settings.max_output, facts)
    most = limit or facts.max_tokens or USUAL_LIMIT
    effort = chosen_effort(settings.effort, facts)
    thinking, output, thinking_note = _thinking(settings.effort, effort, facts, messages, most)
    reasons = thinking["type"] in ("enabled", "adaptive") if thinking else facts.reasoning.by_default is True
    temperature, temperature_note = chosen_temperature(
        settings.temperature, facts, reasons=reasons, most=1.0, refused=True
    )
    tier, tier_note = chosen_tier(settings.service_tier, facts, () if foreign else _TIERS)
    fields = {
        "max_tokens": most,
        "thinking": thinking,
        "output_config": output,
        "temperature": temperature,
        "service_tier": tier,
    }
    interleaved = thinking is not None and thinking["type"] == "enabled" and not foreign
    return SentSettings(
        fields=drop_none(fields),
        notes=non_empty_notes(effort.note, thinking_note, temperature_note, limit_note, tier_note),
        betas=(INTERLEAVED,) if interleaved else (),
    )


_Json = dict[str, object]


def _thinking(
    user_effort: Effort | None,
    effort: ChosenEffort,
    facts: ModelFacts,
    messages: Sequence[ConversationMessage],
    most: int,
) -> tuple[_Json | None, _Json | None, str]:
    """Return the fields `thinking` and `output_config`, None for none, and a note."""
    reasoning = facts.reasoning
    if effort.state == "unset":
        return None, None, ""
    if effort.state == "off":  # a model that does not think by default needs no field
        return ({"type": reasoning.off} if reasoning.by_default else None), None, ""
    level = closest(effort.level, reasoning.levels) if reasoning.levels else ""
    output: _Json | None = {"effort": level} if level else None
    if reasoning.kind != "budget":
        return {"type": "adaptive"}, output, ""
    if not may_begin_thinking(messages):
        why = "it may not begin between a call and its result"
        return None, output, f"{facts.name} reasons from the next prompt on: {why}."
    full_budget = _BUDGETS[user_effort if user_effort and user_effort != "off" else "minimal"]
    budget = max(_LEAST_BUDGET, min(full_budget, most * 3 // 4))
    if budget >= most:
        return None, output, f"{facts.name} cannot think within {most} tokens of output: no effort is sent."
    return {"type": "enabled", "budget_tokens": budget}, output, ""


def may_begin_thinking(messages: Sequence[ConversationMessage]) -> bool:
    """Return whether Anthropic accepts these messages with thinking enabled: see the module."""
    last = messages[-1] if messages else None
    if not isinstance(last, UserMessage) or not last.results:
        return True
    prompts = (at for at, each in enumerate(messages) if isinstance(each, UserMessage) and not each.results)
    first = max(prompts, default=-1) + 1
    first_message = messages[first]
    if not isinstance(first_message, AssistantMessage):
        return False
    sent_parts = (part for part in first_message.parts if not _is_omitted(part))
    return isinstance(next(sent_parts, None), ThinkingPart)


def _is_omitted(part: Part) -> bool:
    match part:
        case ThinkingPart():
            return not part.signature
        case TextPart():
            return not part.text
        case _:
            return False
