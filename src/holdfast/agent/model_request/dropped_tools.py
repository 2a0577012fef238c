"""Notices a server that drops the tools: its chat template has none, so the model never sees them."""

from __future__ import annotations

from holdfast.history.tokens import tokens_of
from holdfast.session.conversation.conversation import Conversation
from holdfast.session.conversation.token_estimate import overhead_tokens
from holdfast.session.journal.parts import Usage

TOOLS_DROPPED = (
    "This server drops the tools: it counted fewer tokens than they have. Its model's chat template has none, it seems "
    "(llama.cpp reads the template with --jinja), so the model can only talk."
)

_LEAST_TOOLS = 500
"""Tokens of tools that are too many to be lost in an estimate."""


def tools_were_dropped(sent: Conversation, usage: Usage) -> bool:
    """Return whether a server counted fewer tokens of a whole request than its tools alone have."""
    opened = sent.opened
    if opened is None:
        return False
    tools = overhead_tokens(opened) - tokens_of(opened.system)
    counted = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return tools >= _LEAST_TOOLS and 0 < counted < tools
