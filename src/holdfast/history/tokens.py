"""How many tokens a text or an image is, about: no tokenizer, for each provider has its own."""

from __future__ import annotations

BYTES = 4
"""Of UTF-8 in a token, over prose, code and JSON; a letter of a language that is no ASCII counts as its bytes do."""


def tokens_of(text: str) -> int:
    """Return about how many tokens the text is; one that is not empty has at least one."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES)


PIXELS = 750
"""In a token of an image, as Anthropic documents it; OpenAI and Google come to about as many."""
LARGEST_IMAGE = 1600
"""Tokens of an image that is scaled down before a model sees it, and of one whose size is not known."""


def tokens_of_image(width: int, height: int) -> int:
    """Return about how many tokens an image of so many pixels is."""
    return min(-(-width * height // PIXELS) or LARGEST_IMAGE, LARGEST_IMAGE)
