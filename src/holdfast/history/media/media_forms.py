"""The forms in which programs write an image, and how to change one: to its true type, or to the form of a format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import msgspec

from holdfast.history.media.images import is_web_address, split_data_url, type_of
from holdfast.history.shape import Path

_Object = dict[str, object]


class Picture(msgspec.Struct, frozen=True):
    """An image: the `data` in base64 with its type, or the `url` of an image."""

    media_type: str = ""
    data: str = ""
    url: str = ""


# --- reading ---------------------------------------------------------------------------------------------------------


def picture_in(raw: object) -> Picture | None:
    """Return the image that a part holds in the form of any provider, of MCP or of a library; None if it is not one."""
    if not isinstance(raw, dict):
        return None
    part = cast("_Object", raw)
    kind = part.get("type")
    if kind in ("image_url", "input_image", "output_image"):
        image = part.get("image_url")
        return _located(_object(image).get("url") or image, "")
    if kind in ("image", "media", "file"):
        return _sourced(_object(part.get("source")) or part)
    if kind == "resource":  # as MCP embeds a file
        return _images_only(_sourced(_object(part.get("resource"))))
    if kind is None:
        for key in ("inlineData", "inline_data"):
            if isinstance(part.get(key), dict):
                return _images_only(_sourced(_object(part[key])))
    return None


_TYPE_KEYS = ("media_type", "mediaType", "mimeType", "mime_type")
_DATA_KEYS = ("data", "base64", "blob", "image")


def _sourced(source: _Object) -> Picture | None:
    """Return the image of an object that holds its data, or its address."""
    declared = next((value for key in _TYPE_KEYS if isinstance(value := source.get(key), str)), "")
    for key in _DATA_KEYS:
        if isinstance(value := source.get(key), str) and value:
            return _images_only(_located(value, declared))
    return _images_only(_located(source.get("url"), declared)) if source.get("url") else None


def _images_only(picture: Picture | None) -> Picture | None:
    if picture is None or picture.url or picture.media_type.startswith("image/"):
        return picture
    return None


def _located(value: object, declared: str) -> Picture | None:
    """Return the image that is this text: a data URL, an address, or base64."""
    if not isinstance(value, str) or not value:
        return None
    if value.startswith("data:"):
        media_type, data = split_data_url(value)
        return Picture(media_type=type_of(data) or media_type or declared, data=data) if data else None
    if is_web_address(value):
        return Picture(url=value)
    found = type_of(value)
    if found or (declared.startswith("image/") and _looks_like_data(value)):
        return Picture(media_type=found or declared, data=value)
    return None


def _looks_like_data(text: str) -> bool:
    return len(text) >= _LEAST and not set(text[:_LEAST]) - _ALPHABET


_LEAST = 16
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")


def is_written_for(form: str, raw: object) -> bool:
    """Return whether a part with an image has the form that this format gives to images."""
    part = _object(raw)
    match form:
        case "anthropic":
            return part.get("type") == "image" and isinstance(part.get("source"), dict)
        case "openai-chat":
            return part.get("type") == "image_url"
        case "openai-responses":
            return part.get("type") == "input_image" and not isinstance(part.get("image_url"), dict)
        case _:
            return part.get("type") is None


# --- writing ---------------------------------------------------------------------------------------------------------


def convert_media(raw: object, path: Path, form: str) -> object:
    """Return `raw` with the images at the path in the form of the format; what is no image stays."""
    return changed_at(raw, path, lambda value: _converted(value, form))


_HOLDERS = ("content", "output", "parts")


def _converted(raw: object, form: str) -> object:
    if isinstance(raw, list | tuple):
        return [_converted(each, form) for each in cast("Sequence[object]", raw)]
    if not isinstance(raw, dict):
        return raw
    part = cast("_Object", raw)
    picture = picture_in(part)
    if picture is None:
        return {key: _converted(value, form) if key in _HOLDERS else value for key, value in part.items()}
    return part if is_written_for(form, part) and not _is_bare(part) else _written(picture, form, part)


def _is_bare(part: _Object) -> bool:
    """Return whether it is an image of Chat's whose address is not in an object."""
    return part.get("type") == "image_url" and isinstance(part.get("image_url"), str)


def _written(picture: Picture, form: str, part: _Object) -> object:
    url = picture.url or f"data:{picture.media_type};base64,{picture.data}"
    match form:
        case "anthropic":
            marks = {key: part[key] for key in ("cache_control",) if key in part}
            source = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
            return {"type": "image", "source": {"type": "url", "url": picture.url} if picture.url else source, **marks}
        case "openai-chat":
            return {"type": "image_url", "image_url": {"url": url}}
        case "openai-responses":
            return {"type": "input_image", "image_url": url}
        case _ if picture.url:
            return {"fileData": {"fileUri": picture.url}}
        case _:
            return {"inlineData": {"mimeType": picture.media_type, "data": picture.data}}


def declare_media(raw: object, path: Path) -> object:
    """Return `raw` with the images and files at the path declared as the type of their bytes, if known."""
    return changed_at(raw, path, _declared)


_TYPES = ("media_type", "mimeType", "mime_type")


def _declared(raw: object) -> object:
    if isinstance(raw, list | tuple):
        return [_declared(each) for each in cast("Sequence[object]", raw)]
    if not isinstance(raw, dict):
        return raw
    part = _with_data(cast("_Object", raw))
    result = {key: _declared(value) for key, value in part.items()}
    for key, value in part.items():
        if isinstance(value, str) and key in _TYPES:
            result[key] = type_of(str(part.get("data"))) or value
        elif isinstance(value, str) and key == "data" and not _is_typed(part):  # Anthropic's, Gemini's
            result["media_type" if part.get("type") == "base64" else "mimeType"] = type_of(value)
        elif isinstance(value, str) and key in ("url", "image_url", "file_data"):
            result[key] = _declared_url(value)
    return result


def _is_typed(source: _Object) -> bool:
    """Return whether the source says its type; a sound of Chat has a `format`."""
    return any(isinstance(source.get(each), str) for each in (*_TYPES, "format"))


def _with_data(part: _Object) -> _Object:
    """Return the source with bare base64 where it is a data URL, which only other formats accept."""
    data, url = part.get("data"), part.get("url")
    if isinstance(data, str) and data.startswith("data:"):
        media_type, bare = split_data_url(data)
        known = {} if _is_typed(part) else {"media_type": media_type}
        return {**part, **known, "data": bare}
    if part.get("type") == "url" and isinstance(url, str) and not is_web_address(url):
        picture = _located(url, "")
        if picture is not None and picture.data:
            return {"type": "base64", "media_type": picture.media_type, "data": picture.data}
    return part


def _declared_url(url: str) -> str:
    head, _, data = url.partition(",")
    if url.startswith("data:") and (found := type_of(data)):
        return f"data:{found};{head.partition(';')[2]},{data}"
    if not is_web_address(url) and (found := type_of(url)):
        return f"data:{found};base64,{url}"
    return url


def changed_at(raw: object, path: Path, change: Callable[[object], object]) -> object:
    """Return `raw` with the value at the path changed; everything around it is a copy."""
    if not path:
        return change(raw)
    key, rest = path[0], path[1:]
    if isinstance(raw, dict):
        inside = cast("_Object", raw)
        return {**inside, str(key): changed_at(inside.get(str(key)), rest, change)}
    listed = cast("Sequence[object]", raw) if isinstance(raw, list | tuple) else ()
    return [changed_at(each, rest, change) if at == key else each for at, each in enumerate(listed)]


def _object(raw: object) -> _Object:
    return cast("_Object", raw) if isinstance(raw, dict) else {}
