"""What is known of the words of one program."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The words of a program that reach beyond the files it is given, as `source` documents them.

    `short` are its options of one letter that write, load or run something, `values` those with a value, behind which
    a letter is no option. `long` are such options of more letters, without dashes and in one case; `exact` those that
    only begin like one of them and do no harm. `words` are subcommands that do. With `single`, options of more letters
    have one dash. With `tasks`, each word that is no option is one more thing to do. With `closed`, each word is a
    program, an address or code. `passes` are programs that get the words as well.
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


def program(  # noqa: PLR0913 - a row of a table
    names: str,
    source: str,
    options: str = "",
    *,
    values: str = "",
    exact: str = "",
    words: str = "",
    single: bool = False,
    tasks: bool = False,
    closed: bool = False,
    passes: str = "",
) -> Program:
    """Return a row of a table; the first of its `options` are letters, all in one word that begins with a dash."""
    letters, _, rest = options.partition(" ") if options.startswith("-") else ("", "", options)
    return Program(
        names=tuple(names.split()),
        source=source,
        short=letters.removeprefix("-"),
        values=values,
        long=frozenset(map(spelt, rest.split())),
        exact=frozenset(map(spelt, exact.split())),
        words=frozenset(words.split()),
        single=single,
        tasks=tasks,
        closed=closed,
        passes=tuple(passes.split()),
    )


def spelt(option: str) -> str:
    """Return the name of an option without what programs do not tell apart: its case, its dashes, its underscores."""
    return re.sub("[-_]", "", option).lower()
