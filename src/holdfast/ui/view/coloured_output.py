r"""The colours of a command's output, as data: no byte that a terminal acts on is passed on.

Only SGR is read (`CSI … m`): colours of 16, 256 or by red, green and blue, and how the letters look. Concealed and
blinking text is shown as any other. Pure.

Example: `\x1b[31mred\x1b[0m or not` is the line `(("red", Appearance(colour=1)), (" or not", Appearance()))`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.tools.printed_text import printed_text

Colour = int | tuple[int, int, int]
"""A number of 256, of which the first 16 are the terminal's, or red, green and blue."""

_SGR = re.compile(r"\x1b\[([0-9;:]{0,64})m")
_LARGEST = 255
_EXTENDED = 38
_EXTENDED_GROUND = 48
_BY_NUMBER, _BY_RGB = 5, 2


class Appearance(msgspec.Struct, frozen=True, kw_only=True):
    """How characters look; None is the colour of the text around them."""

    colour: Colour | None = None
    ground: Colour | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False
    reverse: bool = False


UNSTYLED = Appearance()
ColouredRun = tuple[str, Appearance]
_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("reverse",), 29: ("strike",)}


def output_lines(output: str) -> tuple[tuple[ColouredRun, ...], ...]:
    """Return the lines that are left of an output, each as runs of characters that look the same."""
    look = UNSTYLED
    lines: list[tuple[ColouredRun, ...]] = []
    for line in printed_text(output, keep_colours=True).split("\n"):
        runs: list[ColouredRun] = []
        for at, part in enumerate(_SGR.split(line)):
            if at % 2:
                look = _changed(look, part)
            elif part:
                runs.append((part, _seen(look)))
        lines.append(tuple(runs))
    return tuple(lines)


def _seen(look: Appearance) -> Appearance:
    """Return the look without its colours if text and ground have the same: nothing is hidden."""
    hidden = look.colour is not None and look.colour == look.ground
    return msgspec.structs.replace(look, colour=None, ground=None) if hidden else look


def _changed(look: Appearance, parameters: str) -> Appearance:
    """Return how characters look behind `CSI parameters m`."""
    codes = _codes(parameters)
    for code in codes:
        if code in _ON:
            look = msgspec.structs.replace(look, **{_ON[code]: True})
        elif code in _OFF:
            look = msgspec.structs.replace(look, **dict.fromkeys(_OFF[code], False))
        elif code == 0:
            look = UNSTYLED
        elif code in (_EXTENDED, _EXTENDED_GROUND):
            found = _extended(codes)
            if found is None:
                return look
            look = _with(look, code == _EXTENDED, found)
        elif code in (39, 49):
            look = _with(look, code == 39, None)  # noqa: PLR2004 - as the standard numbers them
        elif (number := _numbered(code)) is not None:
            look = _with(look, *number)
    return look


def _with(look: Appearance, is_text: bool, colour: Colour | None) -> Appearance:  # noqa: FBT001 - one of two places
    return msgspec.structs.replace(look, **{"colour" if is_text else "ground": colour})


def _numbered(code: int) -> tuple[bool, int] | None:
    """Return whether one of the 16 colours is that of the text, and its number."""
    for first, is_text, number in ((30, True, 0), (40, False, 0), (90, True, 8), (100, False, 8)):
        if first <= code < first + 8:
            return is_text, code - first + number
    return None


def _codes(parameters: str) -> Iterator[int]:
    """Yield the numbers; one with parts (`4:3`, `38:2::1:2:3`) as its first, and of a colour its parts as well."""
    for each in parameters.split(";"):
        first, *parts = each.split(":")
        code = int(first or 0)
        if parts and code in (_EXTENDED, _EXTENDED_GROUND):
            if parts[0] == str(_BY_RGB) and len(parts) > 4:  # noqa: PLR2004 - the second names a colour space
                del parts[1]
            yield code
            yield from (int(part or 0) for part in parts[:4])
        elif parts and code == 4 and parts[0] == "0":  # noqa: PLR2004 - no underline
            yield 24
        else:
            yield code


def _extended(codes: Iterator[int]) -> Colour | None:
    """Return the colour that follows 38 or 48, None if it is none."""
    kind = next(codes, None)
    numbers = [next(codes, _LARGEST + 1) for _ in range({_BY_NUMBER: 1, _BY_RGB: 3}.get(kind or 0, 0))]
    if not numbers or max(numbers) > _LARGEST:
        return None
    return numbers[0] if kind == _BY_NUMBER else (numbers[0], numbers[1], numbers[2])
