"""Long texts as models write them: none repeats itself, so that none is cut for that."""

from __future__ import annotations

from functools import cache


@cache
def prose(size: int, word: str = "word") -> str:
    """Return a text of so many characters, made of numbered words."""
    words: list[str] = []
    length = 0
    while length < size:
        words.append(f"{word} {len(words)} ")
        length += len(words[-1])
    return "".join(words)[:size]
