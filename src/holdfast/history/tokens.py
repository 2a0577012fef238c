"""Estimates the tokens of a text or an image without a tokenizer, because each provider has its own."""

from __future__ import annotations

BYTES = 4
"""UTF-8 bytes per token, averaged over prose, code and JSON. Non-ASCII letters count by their bytes."""


def tokens_of(text: str) -> int:
    """Return the approximate number of tokens of the text, at least one unless it is empty."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES)


PIXELS = 750
"""Pixels per token of an image, as Anthropic documents it; OpenAI and Google are close to that."""
LARGEST_IMAGE = 1600
"""Tokens of an image that is scaled down before the model sees it, or whose size is unknown."""


def tokens_of_image(width: int, height: int) -> int:
    """Return the approximate number of tokens of an image of this size."""
    return min(-(-width * height // PIXELS) or LARGEST_IMAGE, LARGEST_IMAGE)
