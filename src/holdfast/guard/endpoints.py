"""Which requests a guard judges: the format by the path, the rules by the host, and whether they are the model's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

_PATHS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"/v1/messages(/count_tokens)?$"), "anthropic"),
    (re.compile(r"/chat/completions$"), "openai-chat"),
    (re.compile(r"/responses(/compact)?$"), "openai-responses"),
    (re.compile(r"/models/[^/]+:(generateContent|streamGenerateContent|countTokens)$"), "gemini"),
)
_HOSTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "api.openai.com": {"openai-chat": "openai-chat", "openai-responses": "openai-responses"},
        "api.anthropic.com": {"anthropic": "anthropic"},
        "generativelanguage.googleapis.com": {"gemini": "gemini"},
        "api.deepseek.com": {"openai-chat": "deepseek", "anthropic": "deepseek", "openai-responses": "deepseek"},
        "api.mistral.ai": {"openai-chat": "mistral"},
        "api.cohere.ai": {"openai-chat": "cohere"},
        "api.cohere.com": {"openai-chat": "cohere"},
    }
)
"""The profile of each provider's own host, by format."""

_AZURE = ".openai.azure.com"
_MODELS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "openai-chat": re.compile(r"(ft:)?(gpt-[345]|o[134](-|$)|chatgpt-|codex-)"),
        "openai-responses": re.compile(r"(ft:)?(gpt-[345]|o[134](-|$)|chatgpt-|codex-|computer-use)"),
        "anthropic": re.compile(r"claude-"),
        "gemini": re.compile(r"gemini-"),
    }
)
"""The names of models of the provider that defines the format."""

LONGEST_URL = 8_192


class Endpoint(NamedTuple):
    """What a request is judged by. `path` is its address without the query, which may hold a key."""

    format: str
    profile: str
    path: str
    is_own_host: bool
    model: str | None
    """The model that the address names, as Gemini's do."""


def endpoint_of(url: str) -> Endpoint | None:
    """Return what a request to this address is judged by, None if it is none that is known."""
    if len(url) > LONGEST_URL:
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return None
    if parts.scheme not in ("http", "https"):
        return None
    form = next((form for pattern, form in _PATHS if pattern.search(parts.path)), None)
    if form is None:
        return None
    profiles = _HOSTS.get(host)
    if profiles is not None and form not in profiles:
        return None
    is_own_host = profiles is not None or (host.endswith(_AZURE) and form in ("openai-chat", "openai-responses"))
    named = re.search(r"/models/([^/:]+):", parts.path) if form == "gemini" else None
    return Endpoint(
        form, (profiles or {}).get(form, form), _without_query(parts), is_own_host, named[1] if named else None
    )


def is_known_model(endpoint: Endpoint, model: str) -> bool:
    """Return whether the rules of the endpoint are known to be those of this model.

    At a provider's own host each model has them. Elsewhere only a model of the provider that defines the format has:
    another one is served by a server with other rules.
    """
    return bool(model) and (endpoint.is_own_host or _MODELS[endpoint.format].match(model) is not None)


def _without_query(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.hostname}{parts.path}"
