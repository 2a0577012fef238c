"""The formats of documents; each is imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from holdfast.errors import UsageError
from holdfast.history.formats.format import Format

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "openai-chat": "holdfast.history.formats.openai_chat",
        "anthropic": "holdfast.history.formats.anthropic.messages",
        "openai-responses": "holdfast.history.formats.openai_responses",
        "pydantic-ai": "holdfast.history.formats.pydantic_ai.messages",
        "gemini": "holdfast.history.formats.gemini",
    }
)
"""The module of each format; it holds the format as `FORMAT`."""


def find_format(name: str) -> Format:
    """Return the format; raises `UsageError` if the name is unknown."""
    if name not in FORMATS:
        raise UsageError(f"Unknown format {name!r} (expected one of {', '.join(FORMATS)}). Name one of them.")
    found: Format = import_module(FORMATS[name]).FORMAT
    return found
