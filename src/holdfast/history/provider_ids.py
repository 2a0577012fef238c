"""Makes ids and names that every provider accepts, by hashing the old ones, so that different ones stay different."""

from __future__ import annotations

import re
from collections.abc import Callable
from hashlib import blake2b

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

_PAIRS = tuple(f"{first}{second}" for second in _ALPHABET for first in _ALPHABET)
"""Two letters at once, for speed: a switch of provider may give a hundred thousand calls new ids."""


def hashed_id(seed: str, *, is_used: Callable[[str], bool]) -> str:
    """Return nine letters and digits, deterministic for the seed, that are not in use.

    Every provider's rule accepts nine alphanumerics (Mistral's is the strictest), so one id serves all.
    """
    for salt in range(1_000_000):
        number = int.from_bytes(_hash(f"{seed}\0{salt}"))
        number, first = divmod(number, len(_PAIRS))
        number, second = divmod(number, len(_PAIRS))
        number, third = divmod(number, len(_PAIRS))
        number, fourth = divmod(number, len(_PAIRS))
        candidate = (
            f"{_PAIRS[first]}{_PAIRS[second]}{_PAIRS[third]}{_PAIRS[fourth]}{_ALPHABET[number % len(_ALPHABET)]}"
        )
        if not is_used(candidate):
            return candidate
    raise AssertionError("a million ids in a row are in use")


def legal_name(name: str) -> str:
    """Return a tool name that every provider accepts, deterministic for the name, and as readable as possible."""
    word = re.sub(r"[^a-zA-Z0-9]+", "_", name).strip("_")[:40]
    return f"tool_{word}_{_hash(name).hex()[:6]}" if word else f"tool_{_hash(name).hex()[:6]}"


def legal_speaker(name: str) -> str:
    """Return a name of a speaker that every provider accepts, deterministic for the name; "" if it is blank."""
    word = re.sub(r"[^a-zA-Z0-9]+", "_", name).strip("_")[:40]
    return f"{word or 'name'}_{_hash(name).hex()[:6]}" if name.strip() else ""


def _hash(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
