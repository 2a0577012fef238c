"""Ids of our own: the same for the same place, and of a form that every provider accepts."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CANONICAL = re.compile("[0-9A-Za-z]{9}")


def call_id(session: str, step: int, index: int, *, taken: Callable[[str], bool]) -> str:
    """Return nine letters and digits, the same for the same place, that no call of the session has.

    Nine alphanumerics are what every provider's rule on ids accepts (Mistral's is the strictest), so one id serves all.
    """
    for salt in range(1_000_000):
        digest = int.from_bytes(blake2b(f"{session}/{step}/{index}/{salt}".encode(), digest_size=8).digest())
        letters: list[str] = []
        for _ in range(9):
            digest, letter = divmod(digest, len(_ALPHABET))
            letters.append(_ALPHABET[letter])
        if not taken(own := "".join(letters)):
            return own
    raise AssertionError("a million ids in a row are taken")


def is_call_id(text: str) -> bool:
    """Return whether `text` has the form of a call id of ours."""
    return _CANONICAL.fullmatch(text) is not None
