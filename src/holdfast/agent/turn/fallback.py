"""The fallback model: it stands in, for the rest of one turn, for a model that does not answer. Pure.

How it works. When no attempt at a response is left and nothing of it was shown, the turn continues with the fallback.
`ModelChanged` is journalled before its request, so a crash at any point leaves a journal that says which model a
request was for. The next prompt goes to the chosen model again, which is journalled together with the prompt.

Why not switch for good: the user chose the model, and an overload passes. Why not try each failure on the fallback: a
wrong key, an invalid request and a refusal are to be seen, not hidden by another model.

Example: `anthropic:a` answers 529 four times, `openai:b` is the fallback. The journal has four `request-failed`,
`model-changed` (`openai:b`, fallback), the turn's other requests to `openai:b`, `turn-ended`, and with the next prompt
`model-changed` (`anthropic:a`, back).

Laws (`tests/agent/turn/test_fallback_laws.py`): whatever fails, the conversation is valid at both providers, a turn
falls back at most once, and the next prompt goes to the chosen model.
"""

from __future__ import annotations

from holdfast.errors import HoldfastError, ProviderFailed
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.journal.entries import ModelChanged


def fallback_for(conversation: Conversation, fallback: str, failed: ProviderFailed, *, shown: bool) -> str:
    """Return the model that the turn continues with after its last attempt failed, "" if it is to end.

    Only for failures that sending again could have helped, with nothing `shown` of the answer, and once in a turn.
    """
    possible = failed.retryable and not shown and not conversation.fell_back
    return fallback if possible and fallback != conversation.model else ""


def back_to_chosen(conversation: Conversation) -> tuple[ModelChanged, ...]:
    """Return the entry with which the next prompt goes to the model that the user chose, none if it does anyway."""
    chosen = conversation.chosen_model
    return (ModelChanged(model=chosen, why="back"),) if chosen and chosen != conversation.model else ()


def with_unusable_fallback(failed: ProviderFailed, unusable: HoldfastError) -> ProviderFailed:
    """Return the failure, with why its fallback was not used."""
    return failed.worded(f"{failed} The fallback model was not used: {unusable}")
