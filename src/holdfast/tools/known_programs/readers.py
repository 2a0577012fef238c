"""The programs that only read, with the options they may have: `readers.json`, and for git `git_readers.json`.

A program is here if nothing that it is given makes it write, run something, connect or read another file than those it
names, with the options of its row. Options are a closed list (`closed_options.py`). Not here, though people think of
them as reading: pagers (`less`, `man`), which start programs from their keys and variables; `ldd`, which runs what it
looks at; `cargo`, `rustc` and `go`, also with `--version`, because they download the version of themselves that a
project names; what asks a server (`npm view`, `gh`, `docker`); `nm`, `size` and `readelf`, which load plugins, read
options out of a file (`@file`) and may download debug information; `arch`, which runs a program on other systems;
`ag`, whose options may take the next word or not; `hostname -f`, which asks a server of names; `java`, which writes its
statistics below `/tmp` whatever it is asked.

Options that follow links (`grep -R`, `ls -L`, `find -L`), that read names out of a file (`wc --files0-from`,
`md5sum -c`) or that go through two folders following links (`diff -r`) are in no row.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from holdfast.tools.shell.closed_options import ClosedOptions, OptionRow
from holdfast.typed_data import decode_json

Operands = Literal["paths", "texts", "pattern"]

ANY_NUMBER = 1_000_000
"""Stands for any number of words that are no options."""


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """A program that only reads, with the `options` it may have; None if it may have any.

    Its other words are `paths`, `texts` (no files), or a `pattern` and then paths; `most` is how many may stand there.
    With `pattern_options`, the pattern is an option and every word a path. With `acts`, the program has options, in no
    row, that write or run something: then no word may be one. With `walks`, it reads all files below the folders that
    it is given; if there are `walk_options`, only with one of them.
    """

    names: tuple[str, ...]
    options: ClosedOptions | None
    operands: Operands = "paths"
    most: int = ANY_NUMBER
    pattern_options: frozenset[str] = frozenset()
    acts: bool = False
    walks: bool = False
    walk_options: frozenset[str] = frozenset()


class ReaderRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the table: a `Reader` whose sets are texts of words."""

    names: str
    options: OptionRow | None
    operands: Operands = "paths"
    most: int = ANY_NUMBER
    pattern_options: str = ""
    acts: bool = False
    walks: bool = False
    walk_options: str = ""
    note: str = ""

    def reader(self) -> Reader:
        """Return the program of the row."""
        return Reader(
            names=tuple(self.names.split()),
            options=None if self.options is None else self.options.options(),
            operands=self.operands,
            most=self.most,
            pattern_options=frozenset(self.pattern_options.split()),
            acts=self.acts,
            walks=self.walks,
            walk_options=frozenset(self.walk_options.split()),
        )


READER_TABLE = Path(__file__).with_name("readers.json")

READERS = tuple(row.reader() for row in decode_json(READER_TABLE.read_bytes(), list[ReaderRow]))
"""The programs whose words follow the usual rules. Those with a language of their own have a module of their own."""

READERS_BY_NAME: dict[str, Reader] = {name: row for row in READERS for name in row.names}


class GitReader(msgspec.Struct, frozen=True, kw_only=True):
    """A sub-command of git that only reads, with the `options` it may have.

    `words` are the first words allowed behind it, if it has further sub-commands. With `list_options`, other words may
    stand only next to one of these; without any of them, only as many as `most`.
    """

    names: str
    options: ClosedOptions
    words: str = ""
    list_options: str = ""
    most: int = 1_000


class GitReaderRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the table: a `GitReader`, or the name of options that several have."""

    names: str
    options: OptionRow | str
    words: str = ""
    list_options: str = ""
    most: int = 1_000


class GitTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The form of the file: the `options` that several sub-commands have, by name, and the sub-commands."""

    options: dict[str, OptionRow]
    commands: list[GitReaderRow]

    def readers(self) -> tuple[GitReader, ...]:
        """Return the sub-commands. Raise `KeyError` for options that are not there."""
        return tuple(
            GitReader(
                names=row.names,
                options=(self.options[row.options] if isinstance(row.options, str) else row.options).options(),
                words=row.words,
                list_options=row.list_options,
                most=row.most,
            )
            for row in self.commands
        )


GIT_TABLE = Path(__file__).with_name("git_readers.json")

GIT_READERS = decode_json(GIT_TABLE.read_bytes(), GitTable).readers()

VERSIONS: dict[str, frozenset[str]] = {
    name: frozenset(options.split())
    for names, options in (
        ("python python3 pip pip3", "--version -V"),
        ("node perl php", "--version -v"),
        ("uv", "--version -V"),
        ("npm", "--version -v"),
        ("ruby bash git gcc g++ cc clang make cmake jq rg fd tar curl docker sed gawk find", "--version"),
    )
    for name in names.split()
}
"""What a program may be asked about itself: with exactly one of these words and no other.

Each row is of one program's own words: `-v` is the version for node, and for Python it runs what it reads, verbosely.
"""

_VARIABLES = (
    "LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS LINES CI GIT_OPTIONAL_LOCKS "
    "GIT_TERMINAL_PROMPT PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE"
)
HARMLESS_VARIABLES = frozenset(_VARIABLES.split())
"""Variables of which no plain value makes a program write, run something or read a file."""
