"""Says so if holdfast's own prompt and tools take most of a window: then a shorter conversation does not help."""

from __future__ import annotations

from holdfast.errors import ProviderFailed
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import overhead_tokens

_MOST_SHARE = 0.5
"""The share of a window that the prompt and the tools may take without a word about it."""


def with_small_window(failed: ProviderFailed, conversation: Conversation, window: int) -> ProviderFailed:
    """Return the failure of a request that was too long, with what of the `window` (0: unknown) was holdfast's own."""
    base = overhead_tokens(conversation.opened)
    if not window or base < _MOST_SHARE * window:
        return failed
    return failed.worded(
        f"{failed} holdfast's own prompt and tools take about {base:,} of this model's {window:,} tokens: start its "
        "server with a larger window."
    )
