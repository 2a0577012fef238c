"""The field types of each format's messages and parts, as the vendors' own types declare them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from holdfast.history.field_tables.anthropic_objects import ANTHROPIC_TYPES
from holdfast.history.field_tables.chat_objects import CHAT_TYPES
from holdfast.history.field_tables.gemini_objects import GEMINI_TYPES
from holdfast.history.field_tables.responses_objects import RESPONSES_TYPES
from holdfast.history.field_types import Objects

TYPES: Mapping[str, Objects] = MappingProxyType(
    {
        "openai-chat": CHAT_TYPES,
        "anthropic": ANTHROPIC_TYPES,
        "openai-responses": RESPONSES_TYPES,
        "gemini": GEMINI_TYPES,
    }
)
"""The messages of each format. pydantic-ai's are checked by its reader, because it splits requests."""
