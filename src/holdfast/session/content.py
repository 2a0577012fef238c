"""The text of foreign content: what is text stays, what is not is named in brackets, what is damaged is quoted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

from holdfast.session.items import Changes, Noted
from holdfast.text import valid_unicode

_MEDIA = {"image-url", "audio-url", "document-url", "video-url", "binary", "uploaded-file"}
_READABLE = ("content", "text", "transcript", "args", "parts")


def cleaned(value: object) -> object:
    """Return parsed JSON with every text in it made valid Unicode."""
    match value:
        case str():
            return valid_unicode(value)
        case list():
            return [cleaned(item) for item in cast("list[object]", value)]
        case dict():
            fields = cast("dict[str, object]", value)
            return {valid_unicode(key): cleaned(item) for key, item in fields.items()}
        case _:
            return value


def raw_arguments(args: object) -> str:
    """Return the arguments as the raw string a journal keeps."""
    return "" if args is None else args if isinstance(args, str) else _json(args)


def text_of(at: int, content: object, changes: Changes) -> str:
    """Return content as the text it is; what is not text is named in brackets."""
    return _flat(_without_media(at, content, changes))


def _flat(content: object) -> str:
    match content:
        case None:
            return ""
        case str():
            return content
        case list() if any(isinstance(item, str) for item in cast("list[object]", content)):
            return "\n".join(_flat(item) for item in cast("list[object]", content))
        case _:
            return _json(content)


def _without_media(at: int, content: object, changes: Changes) -> object:
    match content:
        case list():
            items = cast("list[object]", content)
            return [_without_media(at, item, changes) for item in items if mapping(item).get("kind") != "cache-point"]
        case dict():
            fields = cast("dict[str, object]", content)
            kind = fields.get("kind")
            if kind in _MEDIA:
                changes.add(at, f"content that is not text ({kind}) was left out and named in its place.")
                return _named(fields)
            if kind in ("text-content", "structured-content") and isinstance(fields.get("content"), str):
                return fields["content"]
            return {key: _without_media(at, value, changes) for key, value in fields.items()}
        case _:
            return content


def _named(media: Mapping[str, object]) -> str:
    facts = [media.get(key) for key in ("media_type", "url", "file_id")]
    shown = [fact[:200] for fact in facts if isinstance(fact, str) and fact]
    return f"[{', '.join([str(media.get('kind')), *shown])}: not kept by the import]"


def quoted(at: int, raw: object) -> Iterator[Noted]:
    """Yield the text of something that cannot be understood, if it has any."""
    text = "\n".join(_readable(raw))
    if text.strip():
        yield Noted(at, bracketed("Note from holdfast: a damaged part of the imported record reads", text))


def _readable(raw: object) -> Iterator[str]:
    match raw:
        case str():
            yield raw
        case list():
            for item in cast("list[object]", raw):
                yield from _readable(item)
        case dict():
            fields = cast("dict[str, object]", raw)
            for key in _READABLE:
                yield from _readable(fields.get(key))
        case _:
            return


def bracketed(what: str, text: str) -> str:
    """Return `text` as something that was not said but is told, under the heading `what`."""
    return f"[{what}:\n{text}]"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def mapping(raw: object) -> Mapping[str, object]:
    """Return `raw` if it is a JSON object, else an empty one."""
    return cast("Mapping[str, object]", raw) if isinstance(raw, dict) else {}
