"""The images and documents in Anthropic's messages: their sources, and what their bytes show."""

from __future__ import annotations

import msgspec

from holdfast.history.formats.format import Json, as_object, as_text
from holdfast.history.media import pdf
from holdfast.history.media.images import (
    DATA_URL,
    inspect_base64,
    inspect_image_address,
    is_web_address,
    split_data_url,
    type_of,
)
from holdfast.history.shape import Media

_SOMEWHERE = {"url": "url", "file": "file_id"}
_DOCUMENTS = {**_SOMEWHERE, "base64": "data", "text": "data", "content": "content"}


def is_somewhere(source: Json) -> bool:
    """Return whether a source has its document or its address; True for an unknown type."""
    kind = as_text(source.get("type"))
    return kind is not None and bool(source.get(_DOCUMENTS.get(kind, "type")))


def pdf_of(block: Json) -> Media | None:
    """Return what is known about a PDF given as bytes, None if the block is not one."""
    source = as_object(block.get("source"))
    data = source.get("data")
    if block.get("type") != "document" or source.get("type") != "base64" or not isinstance(data, str):
        return None
    if data.startswith("data:"):
        media_type, bare = split_data_url(data)
        return Media(DATA_URL, found=type_of(bare) or media_type)
    named = as_text(block.get("title")) or ""
    return pdf.inspect_pdf(data, name=named) if source.get("media_type") == pdf.TYPE else None


def image_of(source: Json) -> Media:
    """Return what is known about an image."""
    declared, data = source.get("media_type"), source.get("data")
    if source.get("type") == "base64" and isinstance(data, str):
        return inspect_base64(as_text(declared) or "nothing", data)
    key = _SOMEWHERE.get(as_text(source.get("type")) or "")
    if key == "url" and isinstance(source.get(key), str):
        return _at_address(str(source[key]))
    return Media() if key and isinstance(source.get(key), str) else Media(declared="of no known source")


def _at_address(url: str) -> Media:
    """Return what is known about an image by its address, which is one of the web for Anthropic."""
    if is_web_address(url):
        return Media()
    found = inspect_image_address(url)
    return msgspec.structs.replace(found, declared=DATA_URL) if found.declared.startswith("image/") else found
