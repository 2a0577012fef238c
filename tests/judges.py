"""An independent judge of request bodies: DeepSeek's own validator, which shares no line and no author with holdfast.

What it checks: JSON, required fields and their types, that every call is answered directly after and exactly once, that
no result is without its call, and that ids are unique in a turn (in Messages: results first, roles of blocks).
What it lets pass, so that a green judgement says nothing about it: arguments that are no JSON or no object, blank text,
empty messages (Messages), unknown fields, the charset and length of ids and names, ids used again in a later turn, a
system role inside Messages, who speaks first and last, equal roles in a row, cache markers, signatures of thinking.
What it refuses though the provider takes it: the role `developer` (Chat).
"""

from __future__ import annotations

import json

import deepseek_recipe as deepseek


def judge(wire: str, body: bytes | dict[str, object]) -> None:
    """Raise `AssertionError` with the validator's words unless it accepts the body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    kinds = {"openai-chat": deepseek.ChatCompletionRequest, "anthropic": deepseek.MessagesRequest}
    try:
        request = kinds[wire](raw)
        options = deepseek.ConversionOptions().with_model_alias(request.model, deepseek.ModelVersion.DeepseekV4Pro)
        request.convert(options)
    except deepseek.ConversionError as error:
        raise AssertionError(f"Judge refused the {wire} body: {error.body}") from error
    except ValueError as error:
        raise AssertionError(f"Judge could not read the {wire} body: {error}") from error
