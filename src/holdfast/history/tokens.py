"""How many tokens a text is, about: no tokenizer, for each provider has its own and most keep it to themselves."""

from __future__ import annotations

BYTES = 4
"""Of UTF-8 in a token, over prose, code and JSON; a letter of a language that is no ASCII counts as its bytes do."""


def tokens_of(text: str) -> int:
    """Return about how many tokens the text is; one that is not empty has at least one."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // BYTES)
