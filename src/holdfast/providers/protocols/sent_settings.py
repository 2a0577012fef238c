"""Which of the user's settings are sent to a model, and with which values.

A request is never refused because of a setting: what the model does not take is replaced by the closest that it takes,
or left out. The user reads it: each difference is a sentence in `notes`.

Example: effort `max` for a model with the levels low, medium and high gives the level `high`, and the note
"openai:o3 has no effort 'max': 'high' is sent."
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from holdfast.history.formats.format import is_object
from holdfast.providers.model_table import ModelFacts
from holdfast.session.journal.model_settings import EFFORTS, Effort

_ORDER: tuple[str, ...] = tuple(each for each in EFFORTS if each != "off")
_OPEN_LEVELS = ("low", "medium", "high")
"""The levels of a model that reasons by levels which are not known: every model with levels has these."""
_ABOVE_HIGH = ("gpt-5.1-codex-max", "gpt-5.2", "gpt-5.3", "gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6")
"""The beginnings of names of models whose levels above high are documented, though not checked by pydantic-ai."""


class SentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings add to a request: `fields` of its head, `betas` for a header, `notes` to the user."""

    fields: dict[str, object]
    notes: tuple[str, ...] = ()
    betas: tuple[str, ...] = ()


class ChosenEffort(msgspec.Struct, frozen=True):
    """The effort to send: none (`unset`), not to reason (`off`), or one of the model's levels (`on`).

    `note` says how that differs from what the user set, "" if it does not.
    """

    state: Literal["unset", "off", "on"]
    level: str = ""
    note: str = ""

    def reasons(self, facts: ModelFacts) -> bool:
        """Return whether the model may reason in this request."""
        match self.state:
            case "on":
                return True
            case "off":
                return False
            case "unset":
                kind = facts.reasoning.kind
                return kind == "always" or (kind != "none" and facts.reasoning.by_default is not False)


def chosen_effort(effort: Effort | None, facts: ModelFacts, *, stops: bool = False) -> ChosenEffort:
    """Return the effort to send; `stops` if reasoning can be turned off although the table does not say how."""
    reasoning, name = facts.reasoning, facts.name
    if effort is None:
        return ChosenEffort("unset")
    if reasoning.kind in ("none", "always"):
        return ChosenEffort("unset", note=_nothing_to_set(effort, facts))
    levels = _levels(facts)
    if effort != "off":
        level = closest(effort, levels) if levels else effort
        differs = level != effort and reasoning.kind != "budget"
        return ChosenEffort("on", level, f"{name} has no effort {effort!r}: {level!r} is sent." if differs else "")
    if reasoning.off or stops:
        return ChosenEffort("off")
    level = closest("minimal", levels) if levels else "minimal"
    return ChosenEffort("on", level, f"{name} cannot be told not to reason: effort {level!r} is sent.")


def _levels(facts: ModelFacts) -> tuple[str, ...]:
    """Return the levels that the model surely accepts; none if it only has a budget."""
    reasoning = facts.reasoning
    if not reasoning.levels:
        return () if reasoning.kind == "budget" else _OPEN_LEVELS
    if reasoning.checked:
        return reasoning.levels
    high = facts.name.partition(":")[2].startswith(_ABOVE_HIGH)
    return tuple(each for each in reasoning.levels if each in _OPEN_LEVELS or (high and each in ("xhigh", "max")))


def _nothing_to_set(effort: Effort, facts: ModelFacts) -> str:
    if facts.reasoning.kind == "always":
        return f"{facts.name} always reasons, and its effort cannot be set: none is sent."
    if "reasoning" in facts.assumed:
        return (
            f"holdfast does not know whether {facts.name} reasons: no effort is sent. "
            f'To send one, set `reasoning` in [models."{facts.name}"].'
        )
    return "" if effort == "off" else f"{facts.name} does not reason: no effort is sent."


def closest(effort: str, levels: Sequence[str]) -> str:
    """Return the level closest to `effort`; of two as close, the lower, which costs less."""
    target = _ORDER.index(effort) if effort in _ORDER else 0

    def distance(level: str) -> tuple[int, int]:
        rank = _ORDER.index(level) if level in _ORDER else 0  # a level such as `default`, which is the only one
        return abs(rank - target), rank

    return min(levels, key=distance)


def chosen_temperature(
    temperature: float | None, facts: ModelFacts, *, reasons: bool, most: float = 2.0, refused: bool = False
) -> tuple[float | None, str]:
    """Return the temperature to send, None for none, and a note.

    `reasons` is whether the model may reason, `refused` whether no such request may have a temperature.
    """
    if temperature is None:
        return None, ""
    if facts.temperature == "refused":
        return None, f"{facts.name} takes no temperature: none is sent."
    if reasons and (refused or facts.temperature == "while-not-reasoning"):
        return None, f"{facts.name} takes no temperature while it reasons: none is sent."
    if temperature > most:
        return most, f"{facts.name} takes a temperature of at most {most:g}: {most:g} is sent."
    return temperature, ""


def chosen_limit(limit: int | None, facts: ModelFacts, *, least: int = 1) -> tuple[int | None, str]:
    """Return the output limit to send in tokens, None for none, and a note; `least` is the server's minimum."""
    if limit is None:
        return None, ""
    sent = max(least, limit if facts.max_output is None else min(limit, facts.max_output))
    bound = "at most" if sent < limit else "at least"
    return sent, "" if sent == limit else f"{facts.name} takes {bound} {sent} as max_output: {sent} is sent."


def chosen_tier(tier: str | None, facts: ModelFacts, tiers: Sequence[str]) -> tuple[str | None, str]:
    """Return the service tier to send, None for none, and a note."""
    if tier is None or tier in tiers:
        return tier, ""
    if tiers:
        return None, f"{facts.name} has no service tier {tier!r} (expected one of {', '.join(tiers)}): none is sent."
    return None, f"No service tiers are known of {facts.name}: none is sent. Its own can be set in `extra_body`."


def drop_none(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def merge_fields(head: dict[str, object], added: Mapping[str, object]) -> dict[str, object]:
    """Return the head with the added fields, which win; objects in both are merged.

    An added object of another `type` replaces the one in the head: fields of the one are not fields of the other.
    """
    merged = dict(head)
    for name, value in added.items():
        before = merged.get(name)
        if is_object(before) and is_object(value) and value.get("type") in (None, before.get("type")):
            merged[name] = merge_fields(before, value)
        else:
            merged[name] = value
    return merged


def non_empty_notes(*notes: str) -> tuple[str, ...]:
    """Return the notes that are not empty."""
    return tuple(note for note in notes if note)
