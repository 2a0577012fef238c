"""Why a turn ended: the one list of causes, from which every surface takes its words and its exit code."""

from __future__ import annotations

from typing import Literal

StopReason = Literal["end_turn", "max_tokens", "max_steps", "max_cost", "refusal", "cancelled", "timeout", "error"]
"""Why a turn stopped, in the words of the Agent Client Protocol, plus `max_cost`, `timeout` and `error`."""

Cause = Literal[
    "finished",  # the model ended its answer
    "max_tokens",  # the model's output limit
    "max_steps",  # holdfast's limit on requests per turn
    "max_cost",  # the user's limit on what a run costs
    "refusal",  # the model or its filter refused
    "user",  # ESC, Ctrl+C
    "signal",  # SIGTERM, SIGHUP
    "output",  # the output has no reader, or cannot be written
    "external",  # an asyncio cancellation from the embedding program
    "timeout",  # the turn's deadline
    "approval",  # a call needed approval and no user could be asked
    "provider",  # the provider refused, failed or fell silent
    "flood",  # the answer or the turn went over a bound of size or count
    "empty",  # the answer has neither text nor a call, or announces what is not there
    "loop",  # the model repeated the same call with the same result
    "periodic",  # the answer repeated the same text without an end
    "text_call",  # the answer has a call written as text, which is no call
    "hook",  # a hook of the user ended the turn
    "storage",  # the journal could not be written
    "crash",  # found at recovery: the process ended without recording why
    "bug",  # an exception in holdfast itself
    "fork",  # the session was copied in the middle of the turn; the original may continue
    "import",  # the imported document ends in the middle of the turn
]
"""What ended a turn or cut a response. Set by holdfast's own code, never guessed from a library's exception."""

OF_THE_PROVIDER: frozenset[Cause] = frozenset({"provider", "flood", "empty", "periodic"})
"""Causes that a failed request can have: its fault is reported with the turn's end, for the advice."""

PROMPT_CAUSES = ("", "init", "review", "goal", "wake", "limit", "restart", "hook", "require")
"""What sends a prompt, "" for the user; another session is `session:` and its id."""
