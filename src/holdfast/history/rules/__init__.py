"""What providers accept: every rule by its name, and the check of a conversation against those of one provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from holdfast.history.pairing import Pairing, pair
from holdfast.history.profiles import Profile
from holdfast.history.rules import content, order, pairs, thinking
from holdfast.history.rules.rule import Found, Rule, Severity, Violation
from holdfast.history.shape import Shape

__all__ = ["RULES", "Found", "Rule", "Violation", "check", "findings"]

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.id: rule for rule in (*pairs.RULES, *order.RULES, *content.RULES, *thinking.RULES)}
)


def findings(shape: Shape, pairing: Pairing, profile: Profile) -> Iterator[Found]:
    """Yield every place where a rule is broken that some provider enforces."""
    yield from pairs.find(shape, pairing, profile)
    yield from order.find(shape)
    yield from content.find(shape, profile)
    yield from thinking.find(shape, profile)


def check(shape: Shape, profile: Profile, *, hearsay: bool = False) -> tuple[Violation, ...]:
    """Return every violation of the profile's rules, in the order of the messages; none if it accepts the conversation.

    With `hearsay`, also what breaks a rule that is known by hearsay only, as warnings.
    """
    enforced = profile.enforced(shape.grammar)
    found = [
        _violation(each, profile, "violation" if each.rule in enforced else "warning")
        for each in findings(shape, pair(shape), profile)
        if each.rule in enforced or (hearsay and each.rule in profile.rules)
    ]
    found.sort(key=lambda violation: violation.message)
    return tuple(found)


def _violation(found: Found, profile: Profile, severity: Severity) -> Violation:
    rule = RULES[found.rule]
    message = found.path[0] if found.path and isinstance(found.path[0], int) else -1
    item = found.item
    facts = {"id": (item and item.id) or "", "name": (item and item.name) or "", "message": message}
    error = rule.error(profile.name).format(**facts)
    return Violation(rule.id, found.path, message, f"{found.what}. {rule.says}", error, severity)
