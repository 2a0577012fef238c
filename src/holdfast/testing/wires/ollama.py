"""Ollama's Chat Completions on the wire: OpenAI's, from a machine at home that wants no key.

It is served below `/ollama`, since its path is that of Chat Completions. Its models think in `reasoning`.
"""

from __future__ import annotations

from holdfast.testing.wires.chat import Chat


class Ollama(Chat):
    """Ollama's wire."""

    path = "/ollama/v1/chat/completions"
    wants_key = False
    thinks_in = "reasoning"
