"""Thinking that a model writes into its text, between tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

OPENING_TAG = "<think>"
CLOSING_TAG = "</think>"
_MOST_BLANKS = 64
"""Characters of white space before a tag."""


class ThinkTags:
    """Splits the text of one response into thinking and the rest. A tag may be divided between pieces.

    Thinking is only what stands at the beginning: a tag further on is text, which may well be about tags. White space
    before the first tag is dropped; all other text is kept, so that it can be written again as it was.
    """

    def __init__(self) -> None:
        """Create it for one response."""
        self._state: Literal["begin", "thinking", "text"] = "begin"
        self._held = ""

    def split(self, piece: str) -> Iterator[tuple[bool, str]]:
        """Yield what is certain so far: whether it is thinking, and its text."""
        text, self._held = self._held + piece, ""
        if self._state == "begin":
            begun = text.lstrip()
            if len(text) - len(begun) > _MOST_BLANKS:
                self._state = "text"
            elif begun.startswith(OPENING_TAG):
                self._state, text = "thinking", begun[len(OPENING_TAG) :]
            elif OPENING_TAG.startswith(begun):
                self._held = text
                return
            else:
                self._state = "text"
        if self._state == "thinking":
            inside, tag, after = text.partition(CLOSING_TAG)
            if tag:
                self._state, text = "text", after
            else:
                kept = _begun(inside)
                inside, self._held, text = inside[: len(inside) - kept], inside[len(inside) - kept :], ""
            if inside:
                yield True, inside
        if text:
            yield False, text

    def rest(self) -> Iterator[tuple[bool, str]]:
        """Yield what was held back because it might have been a tag: the text has ended."""
        held, self._held = self._held, ""
        if held:
            yield self._state == "thinking", held


def _begun(text: str) -> int:
    """Return how many characters at the end of the text may be the beginning of a closing tag."""
    return next((size for size in range(len(CLOSING_TAG) - 1, 0, -1) if text.endswith(CLOSING_TAG[:size])), 0)
