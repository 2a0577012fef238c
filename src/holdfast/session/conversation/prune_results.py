"""Prunes old results: which ones are replaced by a short notice, as one entry.

Only results are pruned: prompts, notes and instructions stay. Only between turns: thinking signed after an old result
is dropped with it, and during a turn a provider requires that thinking.
"""

from __future__ import annotations

from holdfast.history.compaction import SHORT, ResultSize, prune
from holdfast.history.tokens import tokens_of
from holdfast.session import model_notices
from holdfast.session.conversation.context_settings import ContextSettings
from holdfast.session.conversation.conversation import Conversation, Result, UserMessage
from holdfast.session.conversation.token_estimate import of_result
from holdfast.session.journal.entries import Pruned
from holdfast.tool_calls import SKILL_TOOL

TODO = "todo"
"""The tool whose last result is the model's plan."""
KEPT_TOOLS = frozenset({SKILL_TOOL})
"""The tools whose results stay: what a skill says holds until the conversation is compacted, which carries it over."""


def prune_entry(conversation: Conversation, settings: ContextSettings) -> tuple[Pruned, ...]:
    """Return the entry that leaves old results out; none during a turn, or if there is nothing to prune."""
    if settings.prune == "off" or conversation.turn_steps:
        return ()
    place = _newest_turns(conversation, settings.prune_turns)
    results: list[tuple[Result, bool]] = []  # with whether its turn is old
    for at, message in enumerate(conversation.messages):
        if isinstance(message, UserMessage):
            results.extend((result, at <= place) for result in message.results)
    todo = next((result.call for result, _ in reversed(results) if result.name == TODO), "")
    instead = {
        result.call: model_notices.pruned_result_notice(
            result.outcome, result.text, len(result.images), program=conversation.program
        )
        for result, is_old in results
        if is_old
        and result.outcome in ("ok", "failed")
        and result.call != todo
        and result.name not in KEPT_TOOLS
        and of_result(result) > SHORT
    }
    outputs = [
        ResultSize(
            call=result.call,
            tokens=of_result(result),
            instead=tokens_of(instead.get(result.call, "")),
            may_go=result.call in instead,
        )
        for result, _ in results
    ]
    pruned = prune(outputs, protect=settings.prune_protect, least=settings.prune_least)
    if not pruned:
        return ()
    texts = {output.call: instead[output.call] for output in pruned}
    return (Pruned(outputs=texts, saved=sum(output.saves for output in pruned)),)


def _newest_turns(conversation: Conversation, count: int) -> int:
    """Return the index of the message that begins the newest `count` turns, -1 if there are no more turns.

    The results in that message belong to the turn before.
    """
    prompts = conversation.prompts
    return prompts[-count].at if len(prompts) > count else -1
