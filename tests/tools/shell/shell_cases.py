"""Shell commands out of files with one in each line: what it shows, a tab, and the command."""

from __future__ import annotations

from pathlib import Path

_UNSEEN = str.maketrans(
    {"⏎": "\n", "⇥": "\t", "␍": "\r", "␀": "\0", "␌": "\f", "␋": "\v", "⍽": "\u00a0"}  # as the files show them
)


def cases(name: str) -> list[tuple[str, str]]:
    """Return what each command of a file shows, and the command."""
    lines = Path(__file__).with_name(name).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    rows = [line.split("\t", 1) for line in lines]
    return [(shows, command.translate(_UNSEEN)) for shows, command in rows]
