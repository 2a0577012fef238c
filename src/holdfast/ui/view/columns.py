"""Lines that fit a terminal, whatever they contain; ages, sizes and folders in readable form."""

from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from holdfast.text import printable

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_PIPED = 200  # columns if the output is not a terminal


def columns() -> int:
    """Return the number of cells per line."""
    return shutil.get_terminal_size(fallback=(_PIPED, 24)).columns


def widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the cells that each column of the rows needs."""
    return [max(cells(cell) for cell in column) for column in zip(*rows, strict=True)]


def row(values: Sequence[str], sizes: Sequence[int]) -> str:
    """Return the values as one line of a table with columns of these sizes."""
    return "  ".join(fit(value, size) for value, size in zip(values, sizes, strict=True)).rstrip()


def fit(text: str, width: int) -> str:
    """Return `text` in exactly `width` cells, truncated if needed."""
    if cells(text) > width:
        while cells(text) > width - 1:
            text = text[:-1]
        text += "…"
    return text + " " * (width - cells(text))


def cells(text: str) -> int:
    """Return the number of terminal cells that the text takes."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def single_line(text: str) -> str:
    """Return the text as one line without anything that a terminal acts on."""
    return " ".join(printable(text).split())


def count_noun(number: int, noun: str) -> str:
    """Return the number with its noun in singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def age(seconds: float) -> str:
    """Return a readable age, e.g. "2 hours ago"."""
    if seconds < _MINUTE:
        return "just now"
    for unit, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds >= unit:
            count = int(seconds // unit)
            return f"{count} {name}{'' if count == 1 else 's'} ago"
    raise AssertionError(seconds)


def byte_count(count: int) -> str:
    """Return a readable number of bytes."""
    amount = count / 1000
    for unit in ("kB", "MB"):
        if amount < 1000:  # noqa: PLR2004 - the step from one unit to the next
            return f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} GB"


def home(folder: str) -> str:
    """Return the folder with the user's home as ~."""
    user_home = str(Path.home())
    shown = (
        f"~{folder.removeprefix(user_home)}" if folder == user_home or folder.startswith(f"{user_home}/") else folder
    )
    return single_line(shown)
