"""Pruning a conversation: its outputs as `history.prune` sees them, and the entry that leaves some of them out.

Two rules. Only results go: what a person said and what they are told stays, and so do instructions. Only between turns:
thinking signed after an old result goes with it, and in an open turn a provider wants that back.
"""

from __future__ import annotations

from holdfast.config import Context
from holdfast.history.prune import SHORT, Output, prune
from holdfast.history.tokens import tokens_of
from holdfast.session import words
from holdfast.session.conversation import Conversation, Result, UserMessage
from holdfast.session.entries import Pruned
from holdfast.session.estimate import of_result

TODO = "todo"
"""The tool whose last result is what the model means to do."""


def pruned(conversation: Conversation, settings: Context) -> tuple[Pruned, ...]:
    """Return the entry that leaves old outputs out, none if nothing is to go or a turn has been answered already."""
    if settings.prune == "off" or conversation.turn_steps:
        return ()
    place = _newest_turns(conversation, settings.prune_turns)
    results: list[tuple[Result, bool]] = []  # and whether its turn is old
    for at, message in enumerate(conversation.messages):
        if isinstance(message, UserMessage):
            results.extend((result, at <= place) for result in message.results)
    todo = next((result.call for result, _ in reversed(results) if result.name == TODO), "")
    instead = {
        result.call: words.left_out(result.outcome, result.text, len(result.images))
        for result, is_old in results
        if is_old and result.outcome in ("ok", "failed") and result.call != todo and of_result(result) > SHORT
    }
    outputs = [
        Output(
            call=result.call,
            tokens=of_result(result),
            instead=tokens_of(instead.get(result.call, "")),
            may_go=result.call in instead,
        )
        for result, _ in results
    ]
    gone = prune(outputs, protect=settings.prune_protect, least=settings.prune_least)
    if not gone:
        return ()
    texts = {output.call: instead[output.call] for output in gone}
    return (Pruned(outputs=texts, saved=sum(output.saves for output in gone)),)


def _newest_turns(conversation: Conversation, count: int) -> int:
    """Return the place of the message with which the newest `count` turns begin, -1 if there are no more than those.

    The results in it are of the turn before.
    """
    prompts = conversation.prompts
    return prompts[-count].at if len(prompts) > count else -1
