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


def seconds_in(part: Json) -> list[str]:
    """Return the names of the part's data fields beside its own: a part holds one, and some programs write more."""
    first = key_of(part)
    return [key for key, value in part.items() if key in KINDS and value is not None and key != first]


def first_part(part: Json) -> Json:
    """Return the part without what it holds beside its own data; the same object if that is nothing."""
    gone = seconds_in(part)
    gone += ["thought"] if "text" in gone and "thought" in part else []  # it is of the text
    return {key: value for key, value in part.items() if key not in gone} if gone else part


def second_part(part: Json, key: str) -> Json:
    """Return as a part what the part holds beside its own data."""
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
