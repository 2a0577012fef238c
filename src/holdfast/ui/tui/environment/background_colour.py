"""Whether the terminal's background is light: from COLORFGBG, and from the terminal's answer to OSC 11. Pure.

Rules. The question is sent after the prompt is on the screen, so it delays nothing; an answer that never comes costs
nothing. An answer is removed from the input wherever its bytes are cut (`TerminalReplies`): none is ever typed.
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
_PREFIX = "\x1b]11;"
_COLOUR = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?")

WAIT = 2.0
"""Seconds in which an answer is likely."""

LONGEST_ANSWER = 64
"""Maximum characters of an answer."""


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
    """Removes the answers from the input, which comes in pieces of any size."""

    def __init__(self) -> None:
        self.found: list[str] = []
        """The answers so far, without their frame."""
        self.expecting = False
        """Whether an answer is likely: an ESC at the end of the input may then be its first byte."""
        self._partial = ""

    def take(self, data: str) -> str:
        """Return the input without answers; an incomplete one at the end is held back."""
        data = self._partial + data
        self._partial = ""
        if "\x1b" not in data:
            return data

        def reply(found: re.Match[str]) -> str:
            self.found.append(found[1])
            return ""

        data = _REPLY.sub(reply, data)
        least = 1 if self.expecting and not self.found else 2  # else a lone ESC is a key at once
        at = data.rfind(_PREFIX)
        if at < 0:
            at = next(
                (len(data) - size for size in range(len(_PREFIX) - 1, least - 1, -1) if data.endswith(_PREFIX[:size])),
                -1,
            )
        elif len(data) - at > LONGEST_ANSWER:
            return data
        if at >= 0:
            data, self._partial = data[:at], data[at:]
        return data

    def flush(self) -> str:
        """Return what was held back, because no more came: a key such as Alt+]. The beginning of an answer stays."""
        if self._partial.startswith(_PREFIX):
            return ""
        partial, self._partial = self._partial, ""
        return partial
