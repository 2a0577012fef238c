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

    Thinking is only at the beginning: a later tag is text, which may well be about tags. White space
    before the first tag is dropped; all other text is kept, so that it can be written again as it was.
    """

    def __init__(self) -> None:
        """Create it for one response."""
        self._state: Literal["begin", "thinking", "text"] = "begin"
        self._pending = ""

    def split(self, piece: str) -> Iterator[tuple[bool, str]]:
        """Yield each piece that is certain so far: whether it is thinking, and its text."""
        text, self._pending = self._pending + piece, ""
        if self._state == "begin":
            begun = text.lstrip()
            if len(text) - len(begun) > _MOST_BLANKS:
                self._state = "text"
            elif begun.startswith(OPENING_TAG):
                self._state, text = "thinking", begun[len(OPENING_TAG) :]
            elif OPENING_TAG.startswith(begun):
                self._pending = text
                return
            else:
                self._state = "text"
        if self._state == "thinking":
            inside, tag, after = text.partition(CLOSING_TAG)
            if tag:
                self._state, text = "text", after
            else:
                partial = _partial_tag_length(inside)
                inside, self._pending, text = inside[: len(inside) - partial], inside[len(inside) - partial :], ""
            if inside:
                yield True, inside
        if text:
            yield False, text

    def flush(self) -> Iterator[tuple[bool, str]]:
        """Yield the rest of the text, which might have been a tag. Call it at the end of the text."""
        pending, self._pending = self._pending, ""
        if pending:
            yield self._state == "thinking", pending


def _partial_tag_length(text: str) -> int:
    """Return how many characters at the end of the text may be the beginning of a closing tag."""
    return next((size for size in range(len(CLOSING_TAG) - 1, 0, -1) if text.endswith(CLOSING_TAG[:size])), 0)
