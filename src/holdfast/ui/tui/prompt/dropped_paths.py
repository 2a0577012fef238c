"""Mentions of files that were dragged into the terminal, which types their paths, and of images typed by path.

A terminal writes the path of a dragged file as a paste: quoted, with backslashes, or as a `file://` address; several
with spaces or newlines between them. A prompt attaches the images that it mentions with `@`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

LONGEST_DROP = 8_192
"""Characters of a paste that may be paths; a longer one is text."""

_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp)$", re.IGNORECASE)
_HOSTS = frozenset({"", "localhost"})


def is_disk_file(path: str) -> bool:
    """Return whether `path` is a file; ~ is the user's home."""
    return os.path.isfile(os.path.expanduser(path))  # noqa: PTH111, PTH113 - Path raises for odd names


def mention(path: str) -> str:
    """Return the mention of a file in a prompt."""
    return f'@"{path}"' if re.search(r"[\s\"']", path) and '"' not in path else f"@{path}"


def text_for_drop(pasted: str, *, is_file: Callable[[str], bool]) -> str:
    """Return the text to insert for a paste of nothing but absolute file paths: images as mentions.

    Return "" for any other paste, also if no path is an image or a `file://` address.
    """
    text = pasted.strip()
    if not text or len(text) > LONGEST_DROP or not text.startswith(("/", "~/", "file://", "'", '"')):
        return ""
    paths = _paths(text, is_file)
    if not paths or not ("file://" in text or any(map(_IMAGE.search, paths))):
        return ""
    return " ".join(mention(path) if _IMAGE.search(path) else path for path in paths) + " "


def with_image_mention(prompt: str, *, is_file: Callable[[str], bool]) -> str:
    """Return the prompt with an image path at its beginning replaced by a mention."""
    found = re.match(r"""(?:'[^'\n]*'|"[^"\n]*"|(?:\\.|[^\s\\'"])+)(?=\s|$)""", prompt)
    if found is None or not found[0].startswith(("/", "~/", "file://", "'", '"')):
        return prompt
    paths = _paths(found[0], is_file)
    return mention(paths[0]) + prompt[found.end() :] if len(paths) == 1 and _IMAGE.search(paths[0]) else prompt


def _paths(text: str, is_file: Callable[[str], bool]) -> list[str]:
    """Return the files that the text names, none if it contains anything else."""
    if text.startswith(("/", "~/")) and "\n" not in text and is_file(text):
        return [text]
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    paths = [_path(word) for word in words]
    return paths if all(path.startswith(("/", "~/")) and is_file(path) for path in paths) else []


def _path(word: str) -> str:
    """Return the path of a `file://` address, else the word."""
    if not word.startswith("file://"):
        return word
    try:
        address = urlsplit(word)
    except ValueError:
        return ""
    return unquote(address.path) if address.netloc in _HOSTS else ""
