"""Recognizes an image by its first bytes: its type and its size in pixels, if known."""

from __future__ import annotations

import base64
import binascii
import re
import struct

import msgspec

from holdfast.history.shape import Media

NO_TYPE = "base64 without its type"
"""The declared type of a file that should be a data URL, and is not."""

AUDIO = "audio"
"""What the bytes of a sound are said to be: they are not looked at."""

NO_ADDRESS = "no address"
"""The declared type of an image whose address no provider can fetch."""

DATA_URL = "a data URL in a field for base64"
"""The declared type of a file whose bytes should stand alone."""

STANDARD = str.maketrans("-_", "+/")
"""Translates the base64 alphabet for URLs to the standard one."""

_HEAD = 96_000  # base64 characters: a JPEG may have much other data before its size
_KNOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # recognized by their first bytes
_FEW = 12  # bytes that identify all of them


def inspect_base64(declared: str, data: str) -> Media:
    """Return the facts known about base64 `data`; invalid base64 is `broken`.

    `no image` is found only if the declared type can be recognized by its bytes.
    """
    if not data:
        return Media(declared=declared, found="empty")
    if data.startswith("data:"):
        media_type, bare = split_data_url(data)
        inner = inspect_base64(media_type, bare)
        return msgspec.structs.replace(inner, declared=DATA_URL, found=inner.found or media_type)
    size = len(data) * 3 // 4 - data[-2:].count("=")
    try:
        head = base64.b64decode(data[:_HEAD], validate=True)
    except (binascii.Error, ValueError):
        return Media(declared=declared, found="broken", size=size)
    found, width, height = image_header(head)
    if not found and declared in _KNOWN_TYPES and not head.startswith(_MAGIC) and len(head) >= _FEW:
        found = "no image"
    return Media(declared=declared, found=found, size=size, width=width, height=height)


def is_base64(text: str) -> bool:
    """Return whether the text is base64, in either alphabet, with its padding or without."""
    return _BASE64.fullmatch(text) is not None and len(text.rstrip("=")) % 4 != 1


_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def type_of(data: str) -> str:
    """Return the type of base64 `data` by its first bytes, in any alphabet, "" if unknown."""
    found = inspect_base64("", data.translate(STANDARD) + "=" * (-len(data) % 4)).found
    return found if found in _KNOWN_TYPES or found == "application/pdf" else ""


def inspect_image_address(url: object) -> Media:
    """Return what is known about an image by its address: its content, or that no provider can fetch it."""
    if isinstance(url, str) and _ADDRESS.match(url) is None:
        bare = type_of(url)
        return (
            msgspec.structs.replace(inspect_base64(bare, url), declared=NO_TYPE) if bare else Media(declared=NO_ADDRESS)
        )
    return inspect_data_url(url)


def is_web_address(text: str) -> bool:
    """Return whether the text is an address of the web or of a provider's own storage."""
    return _ADDRESS.match(text) is not None and not text.startswith("data:")


def split_data_url(url: str) -> tuple[str, str]:
    """Return the type and the base64 of a data URL."""
    head, _, data = url.partition(",")
    return head.removeprefix("data:").partition(";")[0], data


_ADDRESS = re.compile(r"(?:data:|https?://|gs://)", re.IGNORECASE)
"""The beginnings of addresses that a provider can read; a path of this machine is none."""


def inspect_data_url(url: object) -> Media:
    """Return what is known about the content of a data URL; nothing for any other address."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return Media()
    head, _, data = url.partition(",")
    return inspect_base64(head.removeprefix("data:").partition(";")[0], data)


_MAGIC = (b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"\xff\xd8\xff", b"RIFF")


def image_header(head: bytes) -> tuple[str, int, int]:
    """Return the type, width and height by the first bytes of a file; "" and 0 for what they do not show."""
    try:
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return "image/png", *struct.unpack(">II", head[16:24])
        if head.startswith((b"GIF87a", b"GIF89a")):
            return "image/gif", *struct.unpack("<HH", head[6:10])
        if head.startswith(b"\xff\xd8\xff"):
            return "image/jpeg", *_jpeg(head)
        if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
            return "image/webp", *_webp(head)
    except (struct.error, IndexError):
        return "", 0, 0  # truncated: unknown sizes are not judged
    return ("application/pdf", 0, 0) if head.startswith(b"%PDF") else ("", 0, 0)


def _jpeg(head: bytes) -> tuple[int, int]:
    at = 2
    while at + 9 < len(head):
        if head[at + 1] == 0xFF:  # noqa: PLR2004 - padding before a marker
            at += 1
            continue
        marker, length = head[at + 1], struct.unpack(">H", head[at + 2 : at + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # noqa: PLR2004 - the frame markers of JPEG
            height, width = struct.unpack(">HH", head[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return 0, 0


def _webp(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case _:
            width, height = struct.unpack("<HH", head[26:30])
            return width & 0x3FFF, height & 0x3FFF
