"""The types of fields, by the name of a format: what the vendors' own types declare of messages and their parts."""

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
"""By the name of a format, its messages. Those of pydantic-ai are judged where they are read: a request is parted."""
