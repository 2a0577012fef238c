"""What chat servers put into their content: thinking between tags, details of reasoning, several objects in one text.

A text that is parsed again with each of its pieces takes quadratic time. So each piece is only searched for brackets
and quotation marks, and the text is parsed once: when its last bracket closes. What comes after that bracket, but white
space, makes it no object for good.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from holdfast.history.formats.format import Json, is_arguments
from holdfast.providers.protocols.answer_bounds import check_parts

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


# --- OpenRouter's `reasoning_details` of one response: readable ones come in pieces, encrypted ones come whole ---

_TEXT_FIELDS = {"reasoning.text": "text", "reasoning.summary": "summary"}


def text_field(detail: Json) -> str:
    """Return the field of a detail with readable text, "" for an encrypted one."""
    return _TEXT_FIELDS.get(str(detail.get("type")), "")


class ReasoningDetails:
    """The details so far. Pieces are joined at the end: a copy for each would take quadratic time."""

    def __init__(self) -> None:
        """Create it for one response."""
        self._details: list[Json] = []
        self._pieces: list[str] = []  # of the last one's text

    def add(self, new: Json) -> None:
        """Add a detail, or what continues the last one. Raise `Flood` if there are too many."""
        field, last = text_field(new), self._details[-1] if self._details else {}
        if not field or any(last.get(name) != new.get(name) for name in ("type", "index")):
            self._join()
            self._details.append(dict(new))
            check_parts(len(self._details))
            self._pieces = [str(new.get(field) or "")] if field else []
        else:
            self._pieces.append(str(new.get(field) or ""))
            last.update({name: value for name, value in new.items() if value is not None and name != field})

    def all(self) -> list[Json]:
        """Return all of them, each with its whole text."""
        self._join()
        return self._details

    def _join(self) -> None:
        if len(self._pieces) > 1:
            last = self._details[-1]
            text = "".join(self._pieces)
            last[text_field(last)] = text
            self._pieces = [text]


# --- object scan ---

_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_BLANK = " \t\n\r"


class ObjectScan:
    """Reads the pieces of one text."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._depth = 0
        self._in_string = False
        self._escaped = False  # the last piece ended with a backslash in a string
        self._balanced = False
        self._complete: bool | None = None

    def add(self, piece: str) -> None:
        """Add the next piece of the text."""
        if self._balanced:
            if piece.strip(_BLANK):
                self._complete = False
                self._pieces = []
            return
        if not piece:
            return
        self._pieces.append(piece)
        at = 0
        if self._escaped:
            at, self._escaped = 1, False
        while found := (_INSIDE if self._in_string else _OUTSIDE).search(piece, at):
            at = found.end()
            match found[0]:
                case '"':
                    self._in_string = not self._in_string
                case "\\":
                    self._escaped = at == len(piece)
                    at += 1
                case "{" | "[":
                    self._depth += 1
                case _:
                    self._depth -= 1
                    if self._depth <= 0:
                        self._balanced = True
                        if piece[at:].strip(_BLANK):
                            self._complete = False
                        return

    @property
    def complete(self) -> bool:
        """Return whether the text is the JSON text of an object."""
        if not self._balanced:
            return False
        if self._complete is None:
            self._complete = is_arguments("".join(self._pieces))
            self._pieces = []
        return self._complete
