"""The content blocks of a prompt, converted to the text and the images of a turn. Pure but for one look at a file.

An embedded file has the editor's content, which may be unsaved: if it differs from the disk, the text says so, because
an edit works on the file on disk.
"""

from __future__ import annotations

import base64
import binascii
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.bounded_files import read_bounded
from holdfast.text import valid_unicode
from holdfast.tool_calls import Image
from holdfast.tools.workspace.images import image
from holdfast.ui.acp.protocol.json_rpc import INVALID_PARAMS, RpcError

LARGEST_COMPARED = 4 * 1024 * 1024
"""Bytes up to which an embedded file is compared with the disk."""


class TextBlock(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """Text of the user."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True, tag_field="type", tag="image", rename="camel"):
    """An image, its file in base64."""

    data: str
    uri: str | None = None


class AudioBlock(msgspec.Struct, frozen=True, tag_field="type", tag="audio"):
    """Sound, which no model of holdfast hears."""


class LinkBlock(msgspec.Struct, frozen=True, tag_field="type", tag="resource_link"):
    """A resource that the user mentions by its address."""

    uri: str
    name: str = ""


class Resource(msgspec.Struct, frozen=True, rename="camel"):
    """A resource with its content: a text, or bytes."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None


class ResourceBlock(msgspec.Struct, frozen=True, tag_field="type", tag="resource"):
    """A resource that the user mentions, with its content."""

    resource: Resource


PromptBlock = TextBlock | ImageBlock | AudioBlock | LinkBlock | ResourceBlock


class PromptContent(msgspec.Struct, frozen=True):
    """The text and the images of a prompt. It was typed, so it may be a command, if it has nothing embedded."""

    text: str
    images: tuple[Image, ...] = ()
    is_typed: bool = False


def prompt_content(blocks: tuple[PromptBlock, ...], root: Path) -> PromptContent:
    """Return the content of the blocks for a session in `root`. Raise `RpcError` for content that cannot be sent."""
    texts: list[str] = []
    images: list[Image] = []
    for place, block in enumerate(blocks, 1):
        match block:
            case TextBlock(text=text):
                texts.append(text)
            case LinkBlock(uri=uri):
                texts.append(_mention(uri, root))
            case ResourceBlock(resource=Resource(text=str() as text, uri=uri)):
                texts.append(_embedded(uri, text, root))
            case ResourceBlock(resource=Resource(blob=str() as blob, uri=uri, mime_type=kind)):
                if (kind or "").startswith("image/"):
                    images.append(_image(blob, _name(uri, place)))
                else:
                    texts.append(f"[{_mention(uri, root)}: its content is not text, and is not shown here]")
            case ResourceBlock(resource=Resource(uri=uri)):
                texts.append(_mention(uri, root))
            case ImageBlock(data=data, uri=uri):
                images.append(_image(data, _name(uri or "", place)))
            case AudioBlock():
                raise RpcError(INVALID_PARAMS, "The prompt has audio, which holdfast cannot send. Send its text.")
    text = valid_unicode(_joined(texts))
    if not text.strip() and images:
        text = "Look at the image." if len(images) == 1 else "Look at the images."
    if not text.strip():
        raise RpcError(INVALID_PARAMS, "The prompt is empty. Say what you want done.")
    is_typed = all(isinstance(block, TextBlock | LinkBlock) for block in blocks)
    return PromptContent(text, tuple(images), is_typed)


def _joined(texts: list[str]) -> str:
    """Return the texts in one: a mention stays within its sentence, where the editor had it."""
    joined = ""
    for text in texts:
        needs_space = joined and text and not joined[-1].isspace() and not text[0].isspace()
        joined += f" {text}" if needs_space else text
    return joined


def _mention(uri: str, root: Path) -> str:
    """Return `@path` for a file below the root, else its path or its address."""
    path = file_of(uri)
    if path is None:
        return uri
    return f"@{path.relative_to(root)}" if path.is_relative_to(root) else str(path)


def file_of(uri: str) -> Path | None:
    """Return the path in a `file:` address, None for another address."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return Path(os.path.normpath(unquote(parts.path)))  # `..` must not lead out of the root unseen


def _embedded(uri: str, text: str, root: Path) -> str:
    """Return the content as a code block with its address, and a note if the file on disk differs."""
    ticks = "```"
    while ticks in text:
        ticks += "`"
    note = ""
    path = file_of(uri)
    if path is not None and _differs(path, text):
        note = "\n[The editor has unsaved changes in this file: the file on disk differs from what is shown here.]"
    end = "" if text.endswith("\n") else "\n"
    return f"\n{_mention(uri, root)}\n{ticks}\n{text}{end}{ticks}{note}\n"


def _differs(path: Path, text: str) -> bool:
    """Return whether the file is known to differ from the text. A part of the file does not differ."""
    try:
        disk = read_bounded(path, LARGEST_COMPARED).decode("utf-8").replace("\r\n", "\n")
    except (OSError, ValueError):
        return False
    return text.replace("\r\n", "\n").strip() not in disk


def _image(data: str, name: str) -> Image:
    try:
        return image(base64.b64decode(data, validate=True), name)
    except (binascii.Error, ValueError) as error:
        raise RpcError(INVALID_PARAMS, f"Image {name!r} is not valid base64: {error}. Attach it again.") from error
    except ToolFailed as failed:
        raise RpcError(INVALID_PARAMS, str(failed)) from failed


def _name(uri: str, place: int) -> str:
    path = file_of(uri)
    return f"image {place}" if path is None or not path.name else path.name
