"""Plans a compaction: which messages are removed, and what the note in their place must take over. Pure.

How it works. The conversation is divided into rounds: a user message and the response to it. `cut` chooses how many of
the oldest rounds go, so that the rest fits into `keep` tokens. The cut is before a response: the results in the user
message before it go too, because their calls are gone, and the texts of that message stay. `compaction_note.py` writes
the note in place of all that goes: a summary by a model and, word for word, the user's first request, the request being
worked on, and the todo list. Each quotation is taken from its own journal entry; nothing is recognized by its wording.

Why not cut between turns only? One turn of an agent can have hundreds of responses to a single prompt, so such a cut
would find nothing to remove. Why not let the summary repeat the user's words? A summary is a paraphrase. After three
compactions the task would be a paraphrase of a paraphrase, and the model would work on another one.

Example: the prompt is "fix the tests"; of the 60 responses after it the last 12 fit into `keep`. The plan removes 48
rounds, and the results at the head of the 49th user message, which belong to calls of the 48th response. The next
request begins with the note; response 49 follows it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.history.compaction import Round, cut
from holdfast.history.tokens import BYTES, tokens_of
from holdfast.session import model_notices
from holdfast.session.conversation.conversation import (
    Conversation,
    ConversationMessage,
    PromptMark,
    UserContent,
    UserMessage,
)
from holdfast.session.conversation.token_estimate import estimate, of_result, overhead_tokens
from holdfast.session.journal.entries import Pruned
from holdfast.tools.truncation import cap

LEAST = 500
"""A compaction must save at least this many tokens to be worth a request for a summary."""

_SHORTEST = 200
"""Tokens of a result that are always sent."""


class CompactionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The messages to remove: up to the response to request `step` and its results.

    `first` is the index of the first message that stays. `through` is the prompt of the turn that the cut divides, None
    if the part that stays begins with a prompt. `text_count` is how many user texts are removed from the message with
    those results, and `unsent` is their text if they were never answered. `unseen` is true if some removed results were
    not answered by the model yet.
    """

    messages: tuple[ConversationMessage, ...]
    step: int
    first: int
    through: PromptMark | None
    text_count: int
    unsent: str
    unseen: bool


def plan_compaction(
    conversation: Conversation, steps: Sequence[int], *, keep: int, most: int, unsent: bool = False
) -> CompactionPlan | None:
    """Return the messages to remove so that at most `keep` tokens stay, None if not worth a request.

    `steps` are the steps of the conversation's responses. A single step that does not fit into `keep` may stay with up
    to `most` tokens. With `unsent`, unanswered texts of earlier turns may be removed too, otherwise only answered ones.
    """
    messages, model = conversation.messages, conversation.model
    prompts = {prompt.at: prompt for prompt in conversation.prompts}
    unanswered = _unanswered(conversation) if unsent else ()
    if estimate((UserMessage((), unanswered),), model) <= max(most, LEAST):
        unanswered = ()
    rounds = [_round(messages[at : at + 2], model, opens=at in prompts) for at in range(0, len(messages), 2)]
    removed = len(messages) // 2 if unanswered else cut(rounds, keep=keep, most=most)
    first = 2 * removed
    next_message = messages[first] if first < len(messages) else None
    results = next_message.results if isinstance(next_message, UserMessage) else ()
    removed_messages = messages[:first]
    if results or unanswered:
        has_summary = (
            next_message.content[:1]
            if isinstance(next_message, UserMessage) and not first and conversation.compacted
            else ()
        )
        removed_messages = (*removed_messages, UserMessage(results, (*has_summary, *unanswered)))
    if not (removed or unanswered) or estimate(removed_messages, model) < LEAST:
        return None
    earlier = conversation.compacted.step if conversation.compacted else 0
    through = next((each for at, each in reversed(prompts.items()) if at < first), None)
    return CompactionPlan(
        messages=removed_messages,
        step=steps[removed - 1] if removed else earlier,
        first=first,
        through=None if first in prompts else through,
        text_count=conversation.prompts[-1].texts_before if unanswered else 0,
        unsent="\n\n".join(text for text in unanswered if isinstance(text, str)),
        unseen=bool(results) and first == len(messages) - 1,
    )


def _unanswered(conversation: Conversation) -> tuple[UserContent, ...]:
    """Return the texts in the last message that belong to earlier, unanswered turns."""
    last = len(conversation.messages) - 1
    newest = conversation.prompts[-1] if conversation.prompts else None
    if newest is None or newest.at != last or not isinstance(message := conversation.messages[last], UserMessage):
        return ()
    if conversation.compacted is not None and not last:  # the compaction note comes first and replaces some texts
        return message.content[1 : 1 + max(newest.texts_before - conversation.compacted.user_texts, 0)]
    return message.content[: newest.texts_before]


def truncate_results(conversation: Conversation, *, total: int) -> Pruned | None:
    """Return an entry that truncates unanswered results until `total` tokens are sent, None if everything fits.

    The largest results are truncated first. Each keeps its beginning and its end, with a notice in place of the rest.
    """
    last = conversation.messages[-1] if conversation.messages else None
    over = overhead_tokens(conversation.opened) + estimate(conversation.messages, conversation.model) - total
    if over <= 0 or not isinstance(last, UserMessage):
        return None
    weights = {result.call: of_result(result) for result in last.results}
    room, level = sum(weights.values()) - over, 0
    for place, weight in enumerate(sorted(weights.values())):
        level = max(room // (len(weights) - place), _SHORTEST)
        if weight > level:
            break
        room -= weight
    outputs: dict[str, str] = {}
    for result in last.results:
        if weights[result.call] >= level + _SHORTEST:
            outputs[result.call] = model_notices.too_large_result(
                cap(result.text, BYTES * level), len(result.images), program=conversation.program
            )
    saved = sum(weights[call] - tokens_of(text) for call, text in outputs.items())
    return Pruned(outputs=outputs, saved=saved) if outputs else None


def _round(pair: Sequence[ConversationMessage], model: str, *, opens: bool) -> Round:
    user_message, *answer = pair
    assert isinstance(user_message, UserMessage)
    return Round(
        results=estimate((UserMessage(user_message.results, ()),), model),
        texts=estimate((UserMessage((), user_message.content),), model),
        answer=estimate(answer, model) if answer else None,
        opens=opens,
    )
