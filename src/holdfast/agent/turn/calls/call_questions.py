"""The journalled form of a question about a call, and what a yes to it may be remembered as."""

from __future__ import annotations

from holdfast.session.conversation.conversation import OpenCall
from holdfast.session.journal import entries as e
from holdfast.text import valid_unicode
from holdfast.tool_calls import Pattern
from holdfast.tools.tool import Plan


def call_question(call: OpenCall, plan: Plan, why: str) -> e.ApprovalAsked:
    """Return the question about a call, with the level that a yes grants to a command."""
    pattern, patterns = offered_patterns(plan)
    level = plan.asks_level
    return e.ApprovalAsked(
        call=call.part.id,
        why=valid_unicode(why),
        pattern=pattern,
        patterns=patterns,
        level=level,
        hosts=tuple(map(valid_unicode, plan.network)) if level == "network" else (),
        notice=valid_unicode(plan.sandbox_notice),
    )


def offered_patterns(plan: Plan) -> tuple[Pattern | None, tuple[Pattern, ...]]:
    """Return the patterns to remember that a question offers: one by itself, or several."""
    from holdfast.tools.approval.patterns import suggest_patterns

    patterns = suggest_patterns(plan).patterns
    return (patterns[0], ()) if len(patterns) == 1 else (None, patterns)
