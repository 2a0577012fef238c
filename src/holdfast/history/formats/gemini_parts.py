"""The fields of parts in Gemini's contents, in both spellings, with their types."""

from __future__ import annotations

import re

from holdfast.history.formats.format import Json
from holdfast.history.media.images import is_base64
from holdfast.history.shape import Kind

CAMEL: dict[str, Kind] = {
    "text": "text",
    "functionCall": "call",
    "functionResponse": "result",
    "executableCode": "server-call",
    "toolCall": "server-call",
    "codeExecutionResult": "server-result",
    "toolResponse": "server-result",
    "inlineData": "media",
    "fileData": "media",
}
BESIDE = ("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata")


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


SNAKE = {name: _snake(name) for name in (*CAMEL, *BESIDE, "mimeType", "fileUri")}
KINDS: dict[str, Kind] = {**CAMEL, **{SNAKE[name]: kind for name, kind in CAMEL.items()}}
KNOWN = {*KINDS, *BESIDE, *(SNAKE[name] for name in BESIDE)}


def field(raw: Json, name: str) -> object:
    """Return the field, in camel case or snake case."""
    found = raw.get(name)
    return raw.get(SNAKE[name]) if found is None else found


def key_of(part: Json) -> str:
    """Return the name of the part's data field, "" if there is none; the part may have a text as well."""
    keys = [key for key, value in part.items() if key in KINDS and value is not None]
    return next((key for key in keys if key != "text"), keys[0] if keys else "")


def signature_of(raw: Json) -> bool | None:
    """Return whether the signature is valid base64 (a truncated one is not), None if there is none."""
    signature = field(raw, "thoughtSignature")
    if signature is None or signature in ("", b""):
        return None
    return isinstance(signature, bytes) or (  # as an SDK holds it
        isinstance(signature, str) and is_base64(signature)
    )
