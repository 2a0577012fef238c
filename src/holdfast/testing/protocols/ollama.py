"""Ollama's Chat Completions: OpenAI's, from a local server that needs no key.

It is served below `/ollama`, because its path is that of Chat Completions. Its models think in `reasoning`.
"""

from __future__ import annotations

from holdfast.testing.protocols.openai.chat import Chat


class Ollama(Chat):
    """Ollama's protocol."""

    path = "/ollama/v1/chat/completions"
    requires_key = False
    thinking_field = "reasoning"
