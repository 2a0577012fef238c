"""The simple commands of a shell command, as bash reads it."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

RedirectKind = Literal["read", "write", "append", "duplicate", "here"]


class Word(msgspec.Struct, frozen=True):
    """A word of a command.

    With `fixed`, bash hands over exactly `text` as one argument: nothing in it is expanded, split or matched with
    files; without, `text` is the same as `raw`, the characters in the command. `prefix` are the characters that each
    argument made from it begins with. With `pattern`, nothing but `*`, `?` and `[…]` stands in it, so that it becomes
    the names of files, or itself. With `single`, it becomes exactly one argument.
    """

    text: str
    fixed: bool
    raw: str
    prefix: str = ""
    pattern: bool = False
    single: bool = True


class Assignment(msgspec.Struct, frozen=True):
    """A variable that is set: for the shell, or, before a command, for that command alone."""

    name: str
    value: Word


class Redirect(msgspec.Struct, frozen=True):
    """A redirection.

    `duplicate` closes a file descriptor or copies one, and `here` reads what stands in the command: neither touches a
    file. `target` is the file, or for `here` the text in one line; None for a here-document and a duplicate.
    """

    kind: RedirectKind
    target: Word | None = None
    raw: str = ""


Folder = tuple[Word, ...]
"""Where a command runs: the arguments of the `cd`s before it, one after the other, from the folder of the start."""


class SimpleCommand(msgspec.Struct, frozen=True):
    """A program with its words, assignments and redirections.

    Conditions and arithmetic are commands too: the first word is `[`, `[[` or `((`. Without words it only assigns, or
    only redirects. `folders` are all the folders it may run in: several if a `cd` may have failed or not have run.
    """

    assignments: tuple[Assignment, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    raw: str = ""
    folders: tuple[Folder, ...] = ((),)


class Loop(msgspec.Struct, frozen=True):
    """A variable that a loop sets, and a command that does nothing with the words that it is set to."""

    variable: str
    words: SimpleCommand


class CommandLine(msgspec.Struct, frozen=True):
    """All simple commands of a shell command, those in substitutions and here-documents included, in their order.

    `unclear` says in one sentence why the command is not understood; "" if it is. Then `commands` may lack some, and
    nothing of it may run without asking or be remembered. `pipelines` are those of more than one stage: for each, the
    places in `commands` of what runs in each stage. `hidden` says for each command in a few words what stands between
    its exit code and the line's, "" if the line ends with its exit code, provided that it ran.
    """

    commands: tuple[SimpleCommand, ...] = ()
    unclear: str = ""
    pipelines: tuple[tuple[tuple[int, ...], ...], ...] = ()
    loops: tuple[Loop, ...] = ()
    hidden: tuple[str, ...] = ()


CHAINED = "a command behind `&&`"
"""What hides the exit code of a command that another one follows only if it succeeded."""

FOUND = "{}"
"""Stands for the files that `find` hands over; where a shell has it, it is a fixed word."""

_PLAIN_PATTERN = re.compile(r"[\w./*?,:=@%+-]+")


def unknown_file(words: tuple[Word, ...]) -> str:
    """Return why it is not known which files these words name, "" if it is."""
    for word in words:
        if not (word.fixed or word.raw == FOUND or _is_substitution(word) or names_files(word)):
            return f"which file {word.raw[:40]!r} names is not known"
    return ""


def names_files(word: Word) -> bool:
    """Return whether a word becomes the names of files in a way that can be looked up.

    Only `*` and `?` are known, between plain characters: brackets, quotes and escapes are read in other ways by other
    programs, and `..` behind a wildcard leads through a link.
    """
    parts = word.raw.split("/")
    return (
        word.pattern
        and _PLAIN_PATTERN.fullmatch(word.raw) is not None
        and not any(part.startswith((".*", ".?")) for part in parts)
        and not (".." in parts and any(set(part) & {"*", "?"} for part in parts[: _last(parts, "..")]))
    )


def _last(parts: list[str], part: str) -> int:
    return len(parts) - 1 - parts[::-1].index(part)


def _is_substitution(word: Word) -> bool:
    """Return whether a word is what another command prints, read through a pipe: `<(sort a)`."""
    return word.raw.startswith("<(") and word.raw.endswith(")") and word.prefix.startswith("/dev/fd/")
