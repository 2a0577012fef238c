"""Content as text: text stays, content that is not text is named in brackets."""

from __future__ import annotations

import json
from collections.abc import Callable

from holdfast.history.formats.format import Json, as_object, as_text, is_array, is_object
from holdfast.history.formats.pydantic_ai.parts import FILE_KEYS, TEXTS


def content_text(content: object, record: Callable[[str], None]) -> str:
    """Return content as text, with each file named in brackets. `record` gets a sentence about each file."""
    return _flat(_without_files(content, record))


def raw_arguments(args: object) -> str:
    """Return the arguments as the raw string that the journal stores."""
    return "" if args is None else args if isinstance(args, str) else _json(args)


def bracketed(heading: str, text: str) -> str:
    """Return `text` as a bracketed notice with this heading."""
    return f"[{heading}:\n{text}]"


def _flat(content: object) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if is_array(content) and any(isinstance(item, str) for item in content):
        return "\n".join(_flat(item) for item in content)
    return _json(content)


def _without_files(content: object, record: Callable[[str], None]) -> object:
    if is_array(content):
        return [_without_files(item, record) for item in content if as_object(item).get("kind") != "cache-point"]
    if not is_object(content):
        return content
    kind = as_text(content.get("kind"))
    if kind in FILE_KEYS:
        record(f"content that is not text ({kind}) was left out and named in its place.")
        return _named(kind, content)
    if kind in TEXTS and isinstance(content.get("content"), str):
        return content["content"]
    return {key: _without_files(value, record) for key, value in content.items()}


def _named(kind: str, file: Json) -> str:
    facts = (as_text(file.get(key)) for key in ("media_type", "url", "file_id"))
    return f"[{', '.join([kind, *(fact[:200] for fact in facts if fact)])}: not kept by the import]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
