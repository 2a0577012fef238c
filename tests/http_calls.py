"""Asking a scripted provider one thing, in memory."""

from __future__ import annotations

import asyncio
import json

import httpx2

from holdfast.testing.http_transport import ScriptedTransport
from holdfast.testing.scripted_provider import ScriptedProvider

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
MISTRAL = "/mistral/v1/chat/completions"
MESSAGES = "/v1/messages"
GEMINI = "/v1beta/models/gemini-3-test:generateContent"
GEMINI_OLD = "/v1beta/models/gemini-2.5-test:generateContent"
GEMINI_STREAM = "/v1beta/models/gemini-3-test:streamGenerateContent"
_OPENAI = {"authorization": "Bearer test-key"}
_GOOGLE = {"x-goog-api-key": "test-key"}
_HEADERS = {
    **dict.fromkeys((CHAT, RESPONSES, MISTRAL), _OPENAI),
    MESSAGES: {"x-api-key": "test-key", "anthropic-version": "2023-06-01"},
    **dict.fromkeys((GEMINI, GEMINI_OLD, GEMINI_STREAM), _GOOGLE),
}


async def response_of(
    provider: ScriptedProvider, path: str, body: object, *, headers: dict[str, str] | None = None
) -> httpx2.Response:
    """Return the whole response; a body of bytes is sent as it is."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx2.AsyncClient(transport=ScriptedTransport(provider), base_url="http://provider") as client:
        return await client.post(path, content=raw, headers=_HEADERS[path] if headers is None else headers)


def ask(
    provider: ScriptedProvider, path: str, body: object, *, headers: dict[str, str] | None = None
) -> httpx2.Response:
    return asyncio.run(response_of(provider, path, body, headers=headers))
