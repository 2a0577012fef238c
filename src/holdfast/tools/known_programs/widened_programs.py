"""The programs of which a remembered pattern may stand for further words, and the options that may be among them.

`widened_programs.json` has a row for each group of sub-commands. It is a closed list: a program, a sub-command or an
option that is in no row is remembered, or asked about, with its very words. A row is here if its program then does
again what the user saw it do: test, check, build, format, look, or change files of the project, with any of the options
in the row and any words that stay inside the project. So options that write a file, load code, choose another program,
another folder or another server are in no row. It is read with the first command.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from holdfast.tools.shell.closed_options import ClosedOptions, OptionRow
from holdfast.typed_data import decode_json

ANY_WORD = "*"


class Widened(msgspec.Struct, frozen=True, kw_only=True):
    """What may follow a program, as `source` documents it.

    With `single`, longer options have one dash or two. With `tasks`, each word that is not an option would be a further
    task, so only numbers may stand there.
    """

    source: str
    options: ClosedOptions
    single: bool = False
    tasks: bool = False


class WidenedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the table. `after` are the sub-commands behind which the words stand, "" for none; `*` is any name."""

    names: str
    source: str
    after: tuple[str, ...] = ("",)
    single: bool = False
    tasks: bool = False
    options: OptionRow

    def entries(self) -> Iterator[tuple[tuple[str, ...], Widened]]:
        """Yield the row for each program with each of its sub-commands."""
        widened = Widened(source=self.source, options=self.options.options(), single=self.single, tasks=self.tasks)
        for name in self.names.split():
            for after in self.after:
                yield (name, *after.split()), widened


WIDENED_TABLE = Path(__file__).with_name("widened_programs.json")

WIDENED: dict[tuple[str, ...], Widened] = {
    words: widened
    for row in decode_json(WIDENED_TABLE.read_bytes(), list[WidenedRow])
    for words, widened in row.entries()
}
"""The rows, by program and sub-commands."""

WIDENED_NAMES = frozenset(words[0] for words in WIDENED)

_LONGEST = max(map(len, WIDENED))


def widened(name: str, more: Sequence[str]) -> tuple[int, Widened] | None:
    """Return how many of the words behind a program are its sub-commands, and the row; None if there is none."""
    for count in range(min(_LONGEST - 1, len(more)), -1, -1):
        words = (name, *more[:count])
        found = WIDENED.get(words)
        if found is None and count and not more[count - 1].startswith("-"):
            found = WIDENED.get((*words[:-1], ANY_WORD))
        if found is not None:
            return count, found
    return None
