"""Which words may follow an allowed command in place of its ` *`. Pure.

Words may follow only a program, with its sub-command, that is in the table of `known_programs/widened_programs.json`.
A word is accepted if it is an option of that row by its whole name, or names nothing outside the project, no other
machine and no file that other programs run, and sets no variable. A refused word only means that the user is asked.

Why a closed list? A list of programs that run their words (`docker run`, `concurrently`, `tox exec`) and of options
that write is never finished: each release adds one, and a hostile page needs only one.

Laws (`tests/tools/approval/test_command_words_laws.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from holdfast.tools.known_programs.widened_programs import WIDENED_NAMES, Widened, widened
from holdfast.tools.shell.closed_options import options_of
from holdfast.tools.shell.command_line import Word
from holdfast.tools.workspace.autorun_files import runs_by_itself

_LAUNCHERS = (
    *(("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run"), ("hatch", "run"), ("rye", "run")),
    *(("python", "-m"), ("pypy", "-m"), ("coverage", "run", "-m"), ("bundle", "exec"), ("pnpm", "exec")),
    *(("npm", "exec"), ("npx",), ("bunx",)),
)
"""After exactly these words comes a program, and the rest belongs to that program."""

_FOLDERS = re.compile(r"(?:/usr(?:/local)?)?/bin/|(?:\./)?(?:\.?venv/bin|node_modules/\.bin)/|\./(?=(?:gradlew|mvnw)$)")
"""Where a program of that name is that program. Anywhere else a file may be called like one and be another."""

_VERSION = re.compile(r"-?[0-9.]+$")
_PLAIN = re.compile(r"[A-Za-z0-9_./:,=@%+ -]*")
"""Words without a meaning for a shell."""

_MOST_NAMES = 1_024

_CONTACT = frozenset({"push", "pull", "fetch"})
"""Sub-commands of git whose first word is a repository: the name of a known one, no address."""


_BUILTINS = (
    "export declare typeset local readonly set unset read readarray mapfile getopts hash cd pushd popd builtin command "
    "let printf umask ulimit wait enable shopt alias unalias trap exec eval source . bind complete coproc"
)
_CHANGES_THE_SHELL = frozenset(_BUILTINS.split())
"""All builtins of bash that set variables, folders, limits or what a name runs."""


def widened_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return the program with its sub-command that further words may follow, launchers included; () if none may."""
    at = _program_at(words)
    found = widened(_name(words[at]), words[at + 1 :]) if at < len(words) else None
    return () if found is None else tuple(words[: at + 1 + found[0]])


def harmless(known: Sequence[str], more: Sequence[str]) -> bool:
    """Return whether `more` words after the `known` ones add nothing dangerous to the command.

    The `known` ones count too, behind program and sub-command: an option among them could take the next word.
    """
    at = _program_at(known)
    found = widened(_name(known[at]), known[at + 1 :]) if at < len(known) else None
    if found is None:
        return False
    count, row = found
    words = (*known[at + 1 + count :], *more)
    if not (_options_are_listed(words, row) and all(_is_free(word, row) for word in words)):
        return False
    if _name(known[at]) == "git":
        return _keeps_its_repositories(tuple(known[at + 1 : at + 1 + count]), words)
    return not any(map(_is_address, words))


def lets_nothing_through(known: Sequence[str]) -> bool:
    """Return whether no word may follow the `known` ones: it could be a program, an address, or code."""
    return not harmless(known, ())


def changes_the_shell(words: Sequence[str]) -> bool:
    """Return whether a command is a builtin that changes what later commands of its line mean or run."""
    return words[:1] != () and words[0] in _CHANGES_THE_SHELL


def _program_at(words: Sequence[str]) -> int:
    """Return the place of the program in a command, behind its launchers."""
    at, launched = 0, True
    while launched and at < len(words):
        launched = False
        for launcher in _LAUNCHERS:
            if (_name(words[at]), *words[at + 1 : at + len(launcher)]) == launcher:
                at, launched = at + len(launcher), True
                break
    return at


@lru_cache(_MOST_NAMES)
def _name(word: str) -> str:
    """Return the name of a program without folder and version: `python` for `/usr/bin/python3.12`."""
    name = _FOLDERS.sub("", word, count=1) if "/" in word else word
    return name if name in WIDENED_NAMES else _VERSION.sub("", name)


def _options_are_listed(words: Sequence[str], row: Widened) -> bool:
    if row.single:
        return all(_single_is_listed(word, row) for word in words if word.startswith("-"))
    fixed = tuple(Word(word, fixed=True, raw=word, prefix=word) for word in words)
    return options_of(fixed, row.options).unknown() is None


def _single_is_listed(word: str, row: Widened) -> bool:
    """Return whether an option is listed whose longer names have one dash or two."""
    name = word.removeprefix("-").removeprefix("-").partition("=")[0]
    return word == "--" or name in row.options.long or name in row.options.long_values


def _is_free(word: str, row: Widened) -> bool:
    if row.tasks and not _PLAIN.fullmatch(word):
        return False  # it may reach a shell of the project's own
    if word == "-" or word.startswith("@") or not _stays_inside(word):
        return False
    if word.startswith("-"):
        return True  # listed, or refused before
    return word.isdecimal() or not (row.tasks or "=" in word)


_TEST_ID = re.compile(r"[\w./-]+\.\w+(?:::[\w.-]+)+|[\w./-]+\.\w+(?::[0-9]+){1,2}|[A-Za-z][\w-]*(?::[A-Za-z][\w-]*)+")
"""A test in a file, a place in a file, the name of a task: words with a colon that are no address."""


def _is_address(word: str) -> bool:
    """Return whether a word may name another machine, in any spelling: `https://x`, `host:path`, `ext::x`, `a@b`."""
    value = word.partition("=")[2] if word.startswith("-") else word
    return (":" in value and not _TEST_ID.fullmatch(value)) or "@" in value.partition("/")[0]


def _keeps_its_repositories(known: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Return whether further words of a git command name no repository by its address."""
    if any("://" in word or "::" in word or "@" in word.partition(":")[0] for word in words):
        return False
    plain = [word for word in (*known, *words) if not word.startswith("-")]
    if not plain or plain[0] not in _CONTACT or len(plain) == 1:
        return True
    return re.fullmatch(r"[A-Za-z0-9_][\w-]*", plain[1]) is not None


def _stays_inside(word: str) -> bool:
    """Return whether no part of a word is a path out of the project or to files that other programs run."""
    for part in re.split("[=:,@%+]", word):
        # An option's value may follow its letters directly: -C.., -I/usr, -fsub/../..
        for path in (part, re.sub("^-+[A-Za-z0-9]*", "", part)) if part.startswith("-") else (part,):
            if path.startswith("/") or ".." in path.split("/") or _is_run_by_others(path):
                return False
        if part.startswith("-") and any(_is_run_by_others(part[end:]) for end in range(2, min(len(part), 8))):
            return False
    return True


def _is_run_by_others(path: str) -> bool:
    # A bare name is more often a word than a file: HEAD, config, update.
    return not set(path).isdisjoint("./") and runs_by_itself(path)
