"""Whether the JSON text of an object is complete, for a text that arrives in pieces.

A text that is parsed again with each of its pieces takes quadratic time. So each piece is only searched for brackets
and quotation marks, and the text is parsed once: when its last bracket closes. What comes after that bracket, but white
space, makes it no object for good.
"""

from __future__ import annotations

import re

from holdfast.history.formats.format import is_arguments

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
