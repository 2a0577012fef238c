"""Converts a server's answer to a call into text and images for the model. Pure: it takes decoded JSON."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

import msgspec

from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tool_calls import Image
from holdfast.tools.tool import ToolOutput
from holdfast.tools.truncation import HeadTail
from holdfast.tools.workspace.images import image
from holdfast.typed_data import convert_value

LONGEST_RESULT = 30_000
"""Bytes of an answer that the model reads: the beginning and the end of a longer one."""

MOST_IMAGES = 8
"""Images of one answer that the model sees."""


_SLICE = 1 << 16  # characters


class _Resource(msgspec.Struct, frozen=True, rename="camel"):
    uri: str = ""
    text: str | None = None
    mime_type: str | None = None


class _Block(msgspec.Struct, frozen=True, rename="camel"):
    """A content block; only the fields of its type are set."""

    type: str = ""
    text: str = ""
    data: str = ""
    mime_type: str | None = None
    uri: str = ""
    name: str = ""
    resource: _Resource | None = None


class _Result(msgspec.Struct, frozen=True, rename="camel"):
    content: tuple[_Block, ...] = ()
    structured_content: object = None
    is_error: bool | None = None


def result_output(answer: Mapping[str, object]) -> ToolOutput:
    """Return the output for a decoded `CallToolResult`, without a copy of its texts.

    What cannot be shown is named in its place, never dropped. Raises `ToolFailed` if it is not one.
    """
    try:
        result = convert_value(answer, _Result)
    except msgspec.ValidationError as error:
        raise ToolFailed(f"The server's answer cannot be read: {error}. The call was carried out.") from error
    texts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        match block.type:
            case "text":
                texts.append(block.text)
            case "image":
                texts += _image(block, images)
            case "resource_link":
                texts.append(f"[Link to {block.name or 'a resource'}: {block.uri}]")
            case "resource" if block.resource is not None and block.resource.text is not None:
                texts.append(f"[{block.resource.uri}]\n{block.resource.text}")
            case _:
                kind = block.mime_type or (block.resource.mime_type if block.resource else None) or "unknown content"
                texts.append(f"[{block.type or 'content'} left out: {kind} is not shown to models]")
    if all(not each or each.isspace() for each in texts) and result.structured_content is not None:
        texts.append(msgspec.json.encode(result.structured_content).decode())
    text = _capped(texts)
    if not text.strip() and not images:
        text = "(no output)"
    return ToolOutput(text=text, ok=not result.is_error, images=tuple(images))


def _capped(texts: Sequence[str]) -> str:
    """Return the texts as lines, the beginning and the end if they are long. A long text is not copied."""
    output = HeadTail(LONGEST_RESULT)
    for place, text in enumerate(texts):
        output.add(b"\n" if place else b"")
        for start in range(0, len(text), _SLICE):
            output.add(valid_unicode(text[start : start + _SLICE]).encode("utf-8", "replace"))
    return output.text()


def _image(block: _Block, images: list[Image]) -> list[str]:
    """Add the image of a block; return a line in its place if it cannot be added."""
    if len(images) >= MOST_IMAGES:
        return [f"[image left out: at most {MOST_IMAGES} are shown]"]
    try:
        images.append(image(base64.b64decode(block.data, validate=True), f"image {len(images) + 1}"))
    except (binascii.Error, ValueError) as error:
        return [f"[image left out: its data is no base64 ({error})]"]
    except ToolFailed as failed:
        return [f"[image left out: {failed}]"]
    return []
