"""Images that a model can be shown: what their bytes are, whether anybody takes them, and which words name one."""

from __future__ import annotations

import os
import re
from pathlib import Path

from holdfast.calls import Image
from holdfast.errors import ToolFailed
from holdfast.history.media import told
from holdfast.history.profile import MediaLimits
from holdfast.history.profiles import ANY

LARGEST = ANY.media.size
"""The size in bytes up to which every provider that takes images takes one."""

_TYPES = MediaLimits().types
_NAMED = re.compile(r"(?:^|(?<=\s))@(\S+\.(?:png|jpe?g|gif|webp))(?=$|[\s,.;:!?)\]])", re.IGNORECASE)


def is_image(head: bytes) -> bool:
    """Return whether a file that begins with `head` is an image of a kind that can be shown."""
    return told(head)[0] in _TYPES


def image(content: bytes, name: str) -> Image:
    """Return the image that is the whole content of a file; raises `ToolFailed` if nobody could be shown it."""
    media_type, width, height = told(content)
    if media_type not in _TYPES:
        msg = f"File {name!r} is no image that can be shown, PNG, JPEG, GIF or WebP was expected. Convert it."
        raise ToolFailed(msg)
    if len(content) > LARGEST:
        raise ToolFailed(too_large(name, len(content)))
    if max(width, height) > ANY.media.side:
        msg = (
            f"Image {name!r} is {width} x {height} pixels, at most {ANY.media.side} a side were expected. "
            "Make a smaller copy."
        )
        raise ToolFailed(msg)
    return Image(media_type=media_type, data=content, name=name, width=width, height=height)


def too_large(name: str, size: int) -> str:
    """Return what is said of an image of so many bytes."""
    return f"Image {name!r} has {size} bytes, at most {LARGEST} were expected. Make a smaller copy."


def named(text: str, root: Path) -> tuple[tuple[Image, ...], tuple[str, ...]]:
    """Return the images that a person's words name (`@shot.png`, relative to `root`), and what is wrong with others.

    A name that no file has is a word like any other. Never raises.
    """
    images: dict[str, Image] = {}
    wrong: list[str] = []
    for name in _NAMED.findall(text):
        try:
            path = Path(root, os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises for ~unknown
            if not path.is_file():
                continue
            size = path.stat().st_size
            if size > LARGEST:
                wrong.append(too_large(name, size))
            else:
                images[name] = image(path.read_bytes(), name)
        except ToolFailed as failed:
            wrong.append(str(failed))
        except (OSError, ValueError) as error:
            wrong.append(f"Image {name!r} cannot be read: {error}. It is not shown to the model.")
    return tuple(images.values()), tuple(wrong)
