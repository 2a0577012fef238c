"""The formats of documents; each is imported on first use."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from types import MappingProxyType

from holdfast.errors import UsageError
from holdfast.history.formats.format import Format

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "openai-chat": "holdfast.history.formats.openai_chat:FORMAT",
        "anthropic": "holdfast.history.formats.anthropic.messages:FORMAT",
        "openai-responses": "holdfast.history.formats.openai_responses:FORMAT",
        "pydantic-ai": "holdfast.history.formats.pydantic_ai.messages:FORMAT",
        "gemini": "holdfast.history.formats.gemini:FORMAT",
    }
)
"""Where each format is, as `module:name`."""


_added: dict[str, Format] = {}


def add_formats(formats: Mapping[str, Format]) -> None:
    """Let `find_format` find the formats of plug-ins, whose names are not those of FORMATS."""
    _added.update(formats)


def format_names() -> tuple[str, ...]:
    """Return the names of all formats: holdfast's, then those of plug-ins."""
    return (*FORMATS, *_added)


def find_format(name: str) -> Format:
    """Return the format; raises `UsageError` if the name is unknown."""
    if name in _added:
        return _added[name]
    if name not in FORMATS:
        raise UsageError(f"Unknown format {name!r} (expected one of {', '.join(format_names())}). Name one of them.")
    found: Format = resolve_name(FORMATS[name])
    return found
