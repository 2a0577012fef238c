"""Says what allowed a call that runs without a question: the rule, the pattern or the mode that it needs.

How it works. The decision is made again with less: with nothing allowed, with the mode alone, with each pattern and
each rule alone. The first that is enough is the one. Where several are needed together, as for a line of two commands,
their kind stands without a name. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from holdfast.tools.approval.decision import Allow, Policy, decide
from holdfast.tools.tool import Plan

MOST_TRIED = 100
"""Patterns and rules that are tried for one call."""


def allowed_by(plan: Plan, policy: Policy, *, tool: str = "") -> str:
    """Return `free`, or `mode:`, `pattern:` or `rule:` with what it is; "" for a call that only reads."""
    if plan.effect == "read":
        return ""
    if policy.mode == "yolo":
        return "mode:yolo"
    for name, less in _lesser(policy):
        if isinstance(decide(plan, less, tool=tool), Allow):
            return name
    return "rule:several together"


def _lesser(policy: Policy) -> Iterator[tuple[str, Policy]]:
    """Yield policies that allow less, with what each of them still allows."""
    others = tuple(rule for rule in policy.rules.rules if rule.verdict != "allow")
    without = msgspec.structs.replace(policy.rules, rules=others)
    mode = policy.mode if policy.mode == "plan" else "ask"
    yield "free", Policy(mode, (), without)
    yield f"mode:{policy.mode}", Policy(policy.mode, (), without)
    allowing = tuple(rule for rule in policy.rules.rules if rule.verdict == "allow")
    for pattern in policy.patterns[:MOST_TRIED]:
        yield f"pattern:{pattern.text}", Policy(policy.mode, (pattern,), without)
    for rule in allowing[:MOST_TRIED]:
        yield f"rule:{rule.shown}", Policy(policy.mode, (), msgspec.structs.replace(without, rules=(*others, rule)))
    yield "pattern:several together", Policy(policy.mode, policy.patterns, without)
