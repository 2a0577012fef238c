"""Whether the terminal's background is light: from COLORFGBG, and from the terminal's answer to OSC 11. Pure.

Rules. The question is asked after the first prompt is on the screen, so it delays nothing; an answer that never comes
costs nothing. An answer is taken out of the input wherever its bytes are cut (`TerminalReplies`): none is ever typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

QUESTION = "\x1b]11;?\x1b\\"
"""Asks the terminal for its background colour (OSC 11)."""

SILENT = frozenset({"linux", "dumb", "unknown", ""})
"""Values of TERM for terminals that might print the question."""

_LIGHT = frozenset({7, *range(9, 16)})
"""Of the 16 colours, those that are light as a background."""

_REPLY = re.compile(r"\x1b\]11;([^\x07\x1b]*)(?:\x07|\x1b\\)")
_BEGUN = "\x1b]11;"
_COLOUR = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?")

WAIT = 2.0
"""Seconds in which an answer is likely."""

LONGEST_ANSWER = 64
"""Characters of an answer that are waited for."""


def light_by_environment(environ: Mapping[str, str]) -> bool | None:
    """Return whether COLORFGBG, such as `0;15`, names a light background; None if it says nothing."""
    last = environ.get("COLORFGBG", "").rpartition(";")[2]
    return int(last) in _LIGHT if last.isdecimal() and int(last) < 16 else None  # noqa: PLR2004 - the 16 colours


def light_by_reply(reply: str) -> bool | None:
    """Return whether the colour of an answer, such as `rgb:ffff/ffff/ffff`, is light; None if it is no colour."""
    found = _COLOUR.fullmatch(reply)
    if found is None:
        return None
    red, green, blue = (int(each, 16) / (16 ** len(each) - 1) for each in found.groups())
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5  # noqa: PLR2004 - the middle, by ITU-R BT.709


class TerminalReplies:
    """Takes the answers out of the input, which comes in pieces of any size."""

    def __init__(self) -> None:
        self.found: list[str] = []
        """The answers so far, without their frame."""
        self.expecting = False
        """Whether an answer is likely: an ESC at the end of the input may then be its first byte."""
        self._held = ""

    def take(self, data: str) -> str:
        """Return the input without answers; a piece of one that has only begun is held."""
        data = self._held + data
        self._held = ""
        if "\x1b" not in data:
            return data

        def reply(found: re.Match[str]) -> str:
            self.found.append(found[1])
            return ""

        data = _REPLY.sub(reply, data)
        least = 1 if self.expecting and not self.found else 2  # else a lone ESC is a key at once
        at = data.rfind(_BEGUN)
        if at < 0:
            at = next(
                (len(data) - size for size in range(len(_BEGUN) - 1, least - 1, -1) if data.endswith(_BEGUN[:size])), -1
            )
        elif len(data) - at > LONGEST_ANSWER:
            return data
        if at >= 0:
            data, self._held = data[:at], data[at:]
        return data

    def flush(self) -> str:
        """Return what was held although no more came: a key such as Alt+]. A part of an answer is still held."""
        if self._held.startswith(_BEGUN):
            return ""
        held, self._held = self._held, ""
        return held
