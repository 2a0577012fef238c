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
ATTRIBUTES = ("thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata")


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


SNAKE = {name: _snake(name) for name in (*CAMEL, *ATTRIBUTES, "mimeType", "fileUri")}
KINDS: dict[str, Kind] = {**CAMEL, **{SNAKE[name]: kind for name, kind in CAMEL.items()}}
KNOWN = {*KINDS, *ATTRIBUTES, *(SNAKE[name] for name in ATTRIBUTES)}


def field(raw: Json, name: str) -> object:
    """Return the field, in camel case or snake case."""
    found = raw.get(name)
    return raw.get(SNAKE[name]) if found is None else found


def key_of(part: Json) -> str:
    """Return the name of the part's data field, "" if there is none; the part may have a text as well."""
    keys = [key for key, value in part.items() if key in KINDS and value is not None]
    return next((key for key in keys if key != "text"), keys[0] if keys else "")


def extra_data_keys(part: Json) -> list[str]:
    """Return the names of surplus data fields: a part may have one, but some programs write more."""
    first = key_of(part)
    return [key for key, value in part.items() if key in KINDS and value is not None and key != first]


def first_part(part: Json) -> Json:
    """Return the part without its surplus data fields; the same object if there are none."""
    extra = extra_data_keys(part)
    extra += ["thought"] if "text" in extra and "thought" in part else []  # it describes the text
    return {key: value for key, value in part.items() if key not in extra} if extra else part


def second_part(part: Json, key: str) -> Json:
    """Return a part with one surplus data field of the part."""
    thought = {"thought": part["thought"]} if key == "text" and "thought" in part else {}
    return {key: part.get(key), **thought}


def signature_of(raw: Json) -> bool | None:
    """Return whether the signature is valid base64 (a truncated one is not), None if there is none."""
    signature = field(raw, "thoughtSignature")
    if signature is None or signature in ("", b""):
        return None
    return isinstance(signature, bytes) or (  # as an SDK holds it
        isinstance(signature, str) and is_base64(signature)
    )
