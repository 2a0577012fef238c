"""Images for the model: format, limits, and which words of a prompt name one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.history.media.images import image_header
from holdfast.history.profiles import ANY
from holdfast.history.rules.profile import MediaLimits
from holdfast.system.bounded_files import read_bounded
from holdfast.tool_calls import Image

LARGEST_IMAGE_FILE = ANY.media.size
"""The largest image, in bytes, that every provider with image support accepts."""

_TYPES = MediaLimits().types
_ENDING = r"\.(?:png|jpe?g|gif|webp)"
_NAMED = re.compile(
    rf"""(?:^|(?<=\s))@(?:"([^"\n]+{_ENDING})"|([^\s"]\S*{_ENDING}))(?=$|[\s,.;:!?)\]])""", re.IGNORECASE
)


def is_image(head: bytes) -> bool:
    """Return whether a file beginning with `head` is an image of a supported format."""
    return image_header(head)[0] in _TYPES


def image(content: bytes, name: str) -> Image:
    """Return the image in a file's content; raises `ToolFailed` if no provider accepts it."""
    media_type, width, height = image_header(content)
    if media_type not in _TYPES:
        msg = f"File {name!r} is not a supported image (expected PNG, JPEG, GIF or WebP). Convert it."
        raise ToolFailed(msg)
    if len(content) > LARGEST_IMAGE_FILE:
        raise ToolFailed(image_too_large(name, len(content)))
    if max(width, height) > ANY.media.side:
        msg = (
            f"Image {name!r} is too large: {width} x {height} pixels (at most {ANY.media.side} per side). "
            "Make a smaller copy."
        )
        raise ToolFailed(msg)
    return Image(media_type=media_type, data=content, name=name, width=width, height=height)


def image_too_large(name: str, size: int) -> str:
    """Return the message for an image of that size."""
    return f"Image {name!r} is too large: {size} bytes (at most {LARGEST_IMAGE_FILE}). Make a smaller copy."


def named_images(text: str, root: Path) -> tuple[tuple[Image, ...], tuple[str, ...]]:
    """Return the images that a prompt names (`@shot.png`, `@"my shot.png"`), and messages about unusable ones.

    Names are relative to `root`. A name without a file is an ordinary word. Never raises.
    """
    images: dict[str, Image] = {}
    wrong: list[str] = []
    for quoted, plain in _NAMED.findall(text):
        name = quoted or plain
        try:
            path = Path(root, os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises for ~unknown
            if not path.is_file():
                continue
            size = path.stat().st_size
            if size > LARGEST_IMAGE_FILE:
                wrong.append(image_too_large(name, size))
            else:
                images[name] = image(read_bounded(path, LARGEST_IMAGE_FILE), name)
        except ToolFailed as failed:
            wrong.append(str(failed))
        except (OSError, ValueError) as error:
            wrong.append(f"Image {name!r} cannot be read: {error}. It is not shown to the model.")
    return tuple(images.values()), tuple(wrong)
