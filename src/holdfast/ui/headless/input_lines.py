"""The lines of `--input-format stream-json`, parsed: prompts and control requests in Claude Code's shape. Pure.

A line that cannot be used becomes a `BadLine` with the reason. It never ends the run.
"""

from __future__ import annotations

import base64
from typing import Annotated, Literal

import msgspec

from holdfast.errors import ToolFailed
from holdfast.tool_calls import Image
from holdfast.tools.workspace.images import image
from holdfast.typed_data import json_decoder


class PromptLine(msgspec.Struct, frozen=True):
    """A prompt of the user."""

    text: str
    images: tuple[Image, ...] = ()


class InterruptLine(msgspec.Struct, frozen=True):
    """A request to stop the running turn; its answer has the same `request`."""

    request: str


class RefusedRequest(msgspec.Struct, frozen=True):
    """A control request that holdfast does not know."""

    request: str
    why: str


class BadLine(msgspec.Struct, frozen=True):
    """A line that cannot be used, and why, as the end of a sentence."""

    why: str


InputLine = PromptLine | InterruptLine | RefusedRequest | BadLine


class _Source(msgspec.Struct, frozen=True, tag_field="type", tag="base64"):
    data: str


class _Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class _Image(msgspec.Struct, frozen=True, tag_field="type", tag="image"):
    source: _Source


class _Message(msgspec.Struct, frozen=True):
    role: Literal["user"]
    content: str | Annotated[tuple[_Text | _Image, ...], msgspec.Meta(min_length=1)]


class _User(msgspec.Struct, frozen=True, tag_field="type", tag="user"):
    message: _Message


class _Subtype(msgspec.Struct, frozen=True):
    subtype: str


class _Control(msgspec.Struct, frozen=True, tag_field="type", tag="control_request"):
    request_id: str
    request: _Subtype


_decoder: msgspec.json.Decoder[_User | _Control] = json_decoder(_User | _Control)


def parse_input_line(line: bytes) -> InputLine | None:
    """Return the content of a line, None if it is blank."""
    if not line.strip():
        return None
    try:
        match _decoder.decode(line):
            case _Control(request_id=request, request=_Subtype(subtype="interrupt")):
                return InterruptLine(request)
            case _Control(request_id=request, request=_Subtype(subtype=other)):
                return RefusedRequest(request, f"Control request {other!r} is not supported (expected 'interrupt').")
            case _User(message=message):
                return _prompt(message.content)
    except (msgspec.DecodeError, UnicodeDecodeError, ToolFailed, ValueError) as error:
        return BadLine(str(error))


def _prompt(content: str | tuple[_Text | _Image, ...]) -> InputLine:
    parts = (_Text(content),) if isinstance(content, str) else content
    text = "\n".join(part.text for part in parts if isinstance(part, _Text))
    if not text.strip():
        return BadLine("Its prompt has no text")
    data = [part.source.data for part in parts if isinstance(part, _Image)]
    images = (image(base64.b64decode(each, validate=True), f"image {place}") for place, each in enumerate(data, 1))
    return PromptLine(text, tuple(images))
