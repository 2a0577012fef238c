"""Every rule by name, and the check of a conversation against a provider's rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from holdfast.history.pairing import Pairing, pair
from holdfast.history.rules import (
    block_settings,
    content,
    error_results,
    fields,
    order,
    pairs,
    provider_calls,
    text_limits,
    thinking,
)
from holdfast.history.rules.divided_responses import joined
from holdfast.history.rules.profile import Profile
from holdfast.history.rules.rule import Rule, RuleFinding, Severity, Violation
from holdfast.history.shape import Shape
from holdfast.text import valid_unicode

__all__ = [
    "RULES",
    "Inspection",
    "Rule",
    "RuleFinding",
    "Violation",
    "check_shape",
    "inspect",
    "unsent_violation",
    "violations_found",
]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        rule.id: rule
        for rules in (
            pairs.RULES,
            provider_calls.RULES,
            order.RULES,
            content.RULES,
            error_results.RULES,
            block_settings.RULES,
            text_limits.RULES,
            fields.RULES,
            thinking.RULES,
        )
        for rule in rules
    }
)


class Inspection(NamedTuple):
    """The result of a check: the pairing of calls and results, and each place that breaks a rule."""

    shape: Shape
    profile: Profile
    pairing: Pairing
    findings: list[RuleFinding]


def inspect(shape: Shape, profile: Profile, *, frozen: int = 0) -> Inspection:
    """Return all findings about the conversation, including those of hearsay rules.

    The first `frozen` messages were already sent: later messages do not continue their last response.
    """
    shape = joined(shape, profile, frozen=frozen)
    pairing = pair(shape, stored=profile.keeps)
    enforced = profile.enforced(shape.grammar)
    found = [*pairs.find(shape, pairing, profile), *provider_calls.find(shape, pairing, enforced)]
    found += [*error_results.find(shape), *order.find(shape, profile)]
    found += [*content.find(shape, profile), *block_settings.find(shape, profile), *text_limits.find(shape, profile)]
    found += [*fields.find(shape), *thinking.find(shape, profile)]
    names = enforced.union(profile.rules, profile.in_items)
    findings = [each for each in found if each.rule in names]
    return Inspection(shape, profile, pairing, findings)


def check_shape(shape: Shape, profile: Profile, *, hearsay: bool = False) -> tuple[Violation, ...]:
    """Return the violations of the profile's rules, in the order of the messages.

    With `hearsay`, violations of hearsay rules are included as warnings.
    """
    return violations_found(inspect(shape, profile), hearsay=hearsay)


def violations_found(inspection: Inspection, *, hearsay: bool = False) -> tuple[Violation, ...]:
    """Return the findings as violations, in the order of the messages; with `hearsay`, warnings too."""
    shape, profile = inspection.shape, inspection.profile
    enforced = profile.enforced(shape.grammar)
    violations = [
        _violation(found, shape, profile, "violation" if found.rule in enforced else "warning")
        for found in inspection.findings
        if hearsay or found.rule in enforced
    ]
    violations.sort(key=lambda violation: violation.message)
    return tuple(violations)


def unsent_violation(index: int) -> Violation:
    """Return the violation for an invalid message that is not sent."""
    found = RuleFinding("field-mistyped", (index,), "The message, which is not sent, has a field of the wrong type")
    return Violation(
        found.rule, found.path, index, f"{found.description}. {RULES[found.rule].requirement}", "", "", "violation"
    )


def _violation(found: RuleFinding, shape: Shape, profile: Profile, severity: Severity) -> Violation:
    rule = RULES[found.rule]
    message = found.path[0] if found.path and isinstance(found.path[0], int) else -1
    by, error = rule.refusal(profile.name, shape.format)
    answer = valid_unicode(error.format(**_facts(found, shape))) if error else ""
    return Violation(
        rule.id, found.path, message, valid_unicode(f"{found.sentence}. {rule.requirement}"), answer, by, severity
    )


def _facts(found: RuleFinding, shape: Shape) -> dict[str, str | int]:
    """Return the values for the placeholders in the text of an error."""
    item = found.item
    message = found.path[0] if found.path and isinstance(found.path[0], int) else -1
    role = shape.messages[message].role if message >= 0 else ""
    if found.rule == "unknown-role":  # the role as written
        role = next((each.name or "" for each in shape.messages[message].items if each.path == found.path), "")
    name = found.names[0] if found.names else (item and item.name) or ""
    if found.rule == "reference-not-declared" and item:
        name = item.references[found.which]
    call = (item and item.id) or ""
    return {
        "id": call,
        "length": found.size or len(call),
        "name": name,
        "role": role,
        "media": item.media[found.which].declared if item and item.media else "",
        "message": message,
        "next": message + 1,
        "part": next((key for key in reversed(found.path[1:]) if isinstance(key, int)), 0),
    }
