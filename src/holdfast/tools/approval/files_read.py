"""Which files a command that only reads may read: those that it names, and those that it finds. Pure.

A program such as `grep -r` or `find -exec` finds further files by itself, below the folders it is given. Which these
are only the disk knows: `command_analysis` looks (`Surroundings.below`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import msgspec

from holdfast.tools.known_programs.readers import READERS_BY_NAME, Reader
from holdfast.tools.shell.closed_options import closed_options, options_of
from holdfast.tools.shell.command_line import SimpleCommand, Word
from holdfast.tools.shell.conditions import SHELL_WORDS
from holdfast.tools.shell.read_only import program_name


class Walk(msgspec.Struct, frozen=True):
    """The folders below which a command reads what it finds itself; with `links`, also where links in them lead."""

    folders: tuple[str, ...]
    links: bool
    everywhere: bool = False
    """Whether it may read in the whole workspace, wherever it runs."""
    contents: bool = True
    """Whether it reads what the files contain, or lists them."""


_NO_WALK = Walk((), links=False)


def _inner(words: tuple[Word, ...]) -> Iterator[SimpleCommand]:
    """Yield the commands that a `find` runs on what it finds."""
    begins = [at + 1 for at, word in enumerate(words) if word.text == "-exec"]
    for at in begins:
        inner = tuple(takewhile(lambda word: word.text not in {";", "+"}, words[at:]))
        if inner:
            yield SimpleCommand(words=inner)


_HELPERS = {
    "tar": ("gzip", "bzip2", "xz", "zstd", "lzma", "lzip", "lzop", "compress"),
    "locale": ("gzip", "bzip2"),
    "git": ("git-status", "sh", "gpg", "less"),
    "egrep": ("grep",),
    "fgrep": ("grep",),
}


def started(command: SimpleCommand) -> Iterator[str]:
    """Yield the names of the programs that a command which only reads starts by the search path."""
    if not command.words or not command.words[0].fixed:
        return
    name, rest = program_name(command.words[0].text), command.words[1:]
    if "/" not in name:
        yield name
    yield from _HELPERS.get(name, ())
    if name == "xargs":
        yield "echo"
        yield from (word.text for word in rest if word.fixed and "/" not in word.text)
    elif name == "find":
        for inner in _inner(rest):
            yield from started(inner)


def folders_walked(command: SimpleCommand) -> Walk:  # noqa: PLR0911 - a return for each program
    """Return the folders of which a command that only reads may read all files, as paths from where it runs."""
    if not command.words or not command.words[0].fixed:
        return _NO_WALK
    name, rest = program_name(command.words[0].text), command.words[1:]
    if name == "find":
        starts = tuple(_find_starts(rest)) or (".",)
        inner = tuple(map(folders_walked, _inner(rest)))
        if not inner:
            return _NO_WALK
        below = (each for walk in inner for each in walk.folders)
        return Walk((*starts, *below), links=True, everywhere=any(walk.everywhere for walk in inner))
    if name == "git" and any(word.text == "grep" for word in rest):
        return Walk((), links=False, everywhere=True)
    reader = READERS_BY_NAME.get(name)
    if name in ("fd", "fdfind"):
        return Walk(paths_read(command) or (".",), links=False, contents=False)
    if reader is None or reader.options is None or not (reader.walks or name == "diff"):
        return _NO_WALK
    options = {option.name for option in options_of(rest, reader.options).options}
    if reader.walk_options and options.isdisjoint(reader.walk_options):
        return _NO_WALK
    return Walk(paths_read(command) or (".",), links=name == "diff")


def paths_read(command: SimpleCommand) -> tuple[str, ...]:
    """Return what a command that only reads may read, apart from its redirections: paths, from where it runs.

    A `*` or `?` in them stands for any name. Some may be no paths at all: every word that could be one is here.
    """
    if not command.words or not command.words[0].fixed:
        return ()
    name, rest = program_name(command.words[0].text), command.words[1:]
    if name == "xargs":
        return ()
    if name == "find":
        return _find_paths(rest)
    reader = READERS_BY_NAME.get(name)
    if name in SHELL_WORDS and name not in {"cd", "pushd", "[", "test", "[["}:
        return ()
    if reader is None:
        reader = _SCRIPTS.get(name, _ANY)
    if reader.operands == "texts":
        return ()
    options = options_of(rest, reader.options or _NONE)
    found = list(options.operands)
    names = {option.name for option in options.options}
    if reader.operands == "pattern" and found and not names & reader.pattern_options:
        del found[0]
    paths = [word.text for word in found if word.fixed or word.pattern]
    if name == "git":  # a file in a commit has the name of a secret, too
        paths += [path.partition(":")[2] for path in paths if ":" in path]
    if name == "unzip":
        paths += [f"{path}{ending}" for path in paths for ending in (".zip", ".ZIP")]
    for option in options.options:
        if option.name in reader.pattern_options:
            continue
        for word in filter(None, (option.word, option.value)):
            text = word.text if word.fixed else word.raw
            cut = (text.partition("=")[2], text[2:] if not text.startswith("--") else "")
            values = cut if text[:1] == "-" else (text,)
            paths += [each for each in values if "/" in each or ".." in each or each.startswith("~")]
    return tuple(dict.fromkeys(each for each in paths if each != "-"))


_NONE = closed_options()
_ANY = Reader(names=(), options=_NONE)
_SCRIPTS = {
    **dict.fromkeys(
        ["sed", "gsed"],
        Reader(
            names=(),
            options=closed_options("", "e", "", "expression"),
            operands="pattern",
            pattern_options=frozenset({"e", "expression"}),
        ),
    ),
    **dict.fromkeys(
        ["awk", "gawk", "mawk", "nawk"], Reader(names=(), options=closed_options("", "Fv"), operands="pattern")
    ),
    "date": Reader(names=(), options=None, operands="texts"),
    "hostname": Reader(names=(), options=None, operands="texts"),
    "env": Reader(names=(), options=None, operands="texts"),
}


def _find_starts(words: tuple[Word, ...]) -> Iterator[str]:
    """Yield where a `find` starts: the words before its expression."""
    for word in words:
        if word.text in {"-H", "-L", "-P"}:
            continue
        if word.text.startswith(("-", "(", "!")):
            return
        yield word.text


def _find_paths(words: tuple[Word, ...]) -> tuple[str, ...]:
    paths = list(_find_starts(words))
    for before, word in zip((None, *words), words, strict=False):
        if before is not None and (before.text.startswith(("-newer", "-samefile")) or "exec" in before.text):
            paths.append(word.text)
    for inner in _inner(words):
        paths += [path for path in paths_read(inner) if path != "{}"]
    return tuple(dict.fromkeys(paths))
