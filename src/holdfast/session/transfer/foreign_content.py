"""The text of a content: text stays, content that is not text is named in brackets."""

from __future__ import annotations

import json
from collections.abc import Callable

from holdfast.history.formats.format import Json, as_object, as_text, is_array, is_object
from holdfast.history.formats.pydantic_ai.parts import FILE_KEYS, TEXTS


def content_text(content: object, told: Callable[[str], None]) -> str:
    """Return content as text. Each file is named in brackets, and `told`."""
    return _flat(_without_files(content, told))


def raw_arguments(args: object) -> str:
    """Return the arguments as the raw string kept in the journal."""
    return "" if args is None else args if isinstance(args, str) else _json(args)


def bracketed(what: str, text: str) -> str:
    """Return `text` as a bracketed notice under the heading `what`."""
    return f"[{what}:\n{text}]"


def _flat(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if is_array(content) and any(isinstance(item, str) for item in content):
        return "\n".join(_flat(item) for item in content)
    return _json(content)


def _without_files(content: object, told: Callable[[str], None]) -> object:
    if is_array(content):
        return [_without_files(item, told) for item in content if as_object(item).get("kind") != "cache-point"]
    if not is_object(content):
        return content
    kind = as_text(content.get("kind"))
    if kind in FILE_KEYS:
        told(f"content that is not text ({kind}) was left out and named in its place.")
        return _named(kind, content)
    if kind in TEXTS and isinstance(content.get("content"), str):
        return content["content"]
    return {key: _without_files(value, told) for key, value in content.items()}


def _named(kind: str, file: Json) -> str:
    facts = (as_text(file.get(key)) for key in ("media_type", "url", "file_id"))
    return f"[{', '.join([kind, *(fact[:200] for fact in facts if fact)])}: not kept by the import]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
