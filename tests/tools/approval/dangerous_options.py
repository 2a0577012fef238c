"""What arguments of known programs do beyond reading and testing the project: a table with its sources.

It is not a list that decides anything, for such a list is never finished. It is the witness against the closed table of
programs that further words may follow (`holdfast.tools.known_programs.widened_programs`): nothing in it may pass there.
`dangerous_options.json` has a row for each program, a `ProgramRow`.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from holdfast.typed_data import decode_json


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of a program that reach beyond the files it is given, as `source` documents them.

    `short` are one-letter options that write, load or run something; `values` are those with a value, after which a
    letter is not an option. `long` are such longer options, without dashes and in lower case; `exact` are harmless ones
    that only begin like one of them. `words` are such subcommands. With `single`, longer options have one dash. With
    `tasks`, each word that is not an option is a further task. With `closed`, each word is a program, an address or
    code. `passes` are programs that also get the words.
    """

    names: tuple[str, ...]
    source: str
    short: str = ""
    values: str = ""
    long: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    single: bool = False
    tasks: bool = False
    closed: bool = False
    passes: tuple[str, ...] = ()


class ProgramRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of the table. `options` begins with all one-letter ones in one word with a dash."""

    names: str
    source: str
    options: str = ""
    values: str = ""
    exact: str = ""
    words: str = ""
    single: bool = False
    tasks: bool = False
    closed: bool = False
    passes: str = ""

    def program(self) -> Program:
        """Return the program of the row."""
        has_letters = self.options.startswith("-")
        letters, _, rest = self.options.partition(" ") if has_letters else ("", "", self.options)
        return Program(
            names=tuple(self.names.split()),
            source=self.source,
            short=letters.removeprefix("-"),
            values=self.values,
            long=frozenset(map(spelt, rest.split())),
            exact=frozenset(map(spelt, self.exact.split())),
            words=frozenset(self.words.split()),
            single=self.single,
            tasks=self.tasks,
            closed=self.closed,
            passes=tuple(self.passes.split()),
        )


def spelt(option: str) -> str:
    """Return an option's name without what programs ignore: case, dashes, underscores."""
    return re.sub("[-_]", "", option).lower()


PROGRAM_TABLE = Path(__file__).with_name("dangerous_options.json")

BY_NAME: dict[str, Program] = {
    name: program
    for row in decode_json(PROGRAM_TABLE.read_bytes(), list[ProgramRow])
    for program in [row.program()]
    for name in program.names
}
"""The programs, by each of their names."""

USUAL = ProgramRow(
    names="*",
    source="the names that options of this kind have in many programs",
    options="-ocfCeIlL output output-file output-dir output-directory out outfile out-file outdir out-dir log-file "
    "logfile log-dir config config-file conf config-dir configuration rcfile settings settings-file plugin plugins "
    "load load-path require preload import exec execute eval command cmd script shell cwd chdir directory dir workdir "
    "working-directory work-dir root root-dir rootdir prefix cache-dir manifest-path target-dir file makefile env-file "
    "loader init-script init-file editor pager browser include-path report-file report-dir dest destination temp-dir "
    "tmpdir basedir pythonpath upload publish",
).program()
