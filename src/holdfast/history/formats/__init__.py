"""The kinds of documents: each is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from holdfast.errors import UsageError
from holdfast.history.formats.format import Format

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "openai-chat": "holdfast.history.formats.openai_chat",
        "anthropic": "holdfast.history.formats.anthropic",
        "openai-responses": "holdfast.history.formats.openai_responses",
        "pydantic-ai": "holdfast.history.formats.pydantic_ai",
        "gemini": "holdfast.history.formats.gemini",
    }
)
"""The module of each format; it holds the format as `FORMAT`."""


def find_format(name: str) -> Format:
    """Return the format; raises `UsageError` if there is none of that name."""
    if name not in FORMATS:
        raise UsageError(f"Format {name!r} is unknown, one of {', '.join(FORMATS)} was expected. Name one.")
    found: Format = import_module(FORMATS[name]).FORMAT
    return found
