"""Fills values into the text of a shell command, so that none of them can become a part of the command. Pure.

How it works. A scanner reads the command from its start and says of each place how it is quoted. In a bare place a
value is quoted for the shell. Everywhere else no quoting is right for certain, so only harmless values are filled in,
as they are; any other refuses the command. What the scanner does not know for certain makes the rest of the
command unsure.

Laws (`tests/skills/test_command_places_laws.py`): bash reads each value as it was given, or it is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Literal

import msgspec

PlaceQuoting = Literal["bare", "quoted", "unsure"]
"""Where a value stands: outside quotes, inside of one pair of them, or where nothing is certain."""

_HARMLESS = re.compile(r"[A-Za-z0-9_./:@%+,=-]*")
_HARMLESS_WITH_BLANKS = re.compile(r"[A-Za-z0-9_./:@%+,= -]*")
_BEFORE_BARE = re.compile(r"[A-Za-z0-9_./:@%+,=\s(|;&<>'\"}-]")
"""What may stand before a bare place: `$` would make other quotes of its quotes, and a bracket arithmetic."""
_READS_AGAIN = re.compile(
    r"\b(?:eval|trap|ssh|let|declare|typeset|local|readonly|export|unset|read|mapfile|readarray|alias|source)\b"
    r"|(?:\bprintf|\btest|\[)[ \t]+(?:![ \t]+)?-v\b"
)
"""Commands that read their words as code once more."""
_SHELL = re.compile(r"\b\w*sh\b")
_SHELL_TEXT = re.compile(r"\s-\w*c\b")
_ENDS_CERTAINTY = re.compile(r"`|<<|\$[{'\[]|\(\(|\[\[|(?<=\w)\[|(?<![^\s;|&()<>])#")
_IN_QUOTES_ENDS_CERTAINTY = re.compile(r"`|\$[({\[]")


class Filling(msgspec.Struct, frozen=True):
    """What stands in a place of a command: one `value`, or all of several `words` as they were typed."""

    value: str
    words: tuple[str, ...] | None = None


class PlaceRefused(ValueError):
    """A value cannot be filled in: the text says which place of which command, and why."""


def fill_command(command: str, places: re.Pattern[str], filling: Callable[[re.Match[str]], Filling | str]) -> str:
    """Return the command with its places filled in. `filling` gives a text as it is for what is no place of a value.

    Raises `PlaceRefused` if a value could become a part of the command.
    """
    pieces: list[str] = []
    quote = ""
    unsure = bool(_READS_AGAIN.search(command) or (_SHELL.search(command) and _SHELL_TEXT.search(command)))
    at = 0
    while at < len(command):
        if (found := places.match(command, at)) is not None:
            filled = filling(found)
            if isinstance(filled, Filling):
                before = command[at - 1 : at]
                place: PlaceQuoting = "quoted" if quote else "bare"
                if unsure or before == "$" or (before and not quote and not _BEFORE_BARE.fullmatch(before)):
                    place = "unsure"
                pieces.append(_filled(filled, place, after_dollar=before == "$", command=command, name=found[0]))
            else:
                pieces.append(filled)
            at = found.end()
            continue
        sign = command[at]
        step = 1
        if sign == "\\" and quote != "'":
            step = 2
        elif quote:
            unsure = unsure or (quote == '"' and _IN_QUOTES_ENDS_CERTAINTY.match(command, at) is not None)
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            unsure = unsure or _ENDS_CERTAINTY.match(command, at) is not None
        pieces.append(command[at : at + step])
        at += step
    return "".join(pieces)


def _filled(filling: Filling, place: PlaceQuoting, *, after_dollar: bool, command: str, name: str) -> str:
    if place == "bare":
        return shlex.quote(filling.value) if filling.words is None else shlex.join(filling.words)
    blanks = place == "quoted" or filling.words is not None
    harmless = _HARMLESS_WITH_BLANKS if blanks else _HARMLESS
    if harmless.fullmatch(filling.value) and not (after_dollar and filling.value):
        return filling.value
    raise PlaceRefused(
        f"its command {command[:200]!r} has {name!r} where {filling.value[:100]!r} could become a part of the command. "
        f"In the file, write {name!r} without quotes, as one word, or give it only letters, digits and "
        "_./:@%+,=-"
    )
