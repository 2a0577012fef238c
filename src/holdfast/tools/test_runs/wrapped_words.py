"""The words of the program that is run in the end, without the programs in front of it that only start it. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from holdfast.tools.test_runs.believed_lines import (
    ASSIGNS,
    known_options,
    option_size,
    unknown_assignment,
    unknown_program,
)
from holdfast.tools.test_runs.runner_table import RUNNER_TABLE, WrapperRow

MOST_WRAPPED = 8

_PLACE = re.compile(r"(?:.*/)?(?:bin|\.bin|Scripts)/([^/]+)|\./((?:gradlew|mvnw))|([^/]+)")
_POSITION = re.compile(r"[0-9.]+[smhd]?")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.][\w.,:=<>~!*\[\]-]*")


class WrappedWords(msgspec.Struct, frozen=True, kw_only=True):
    """The `words`, () if they are not clear; `is_module` if they begin with a module of Python's.

    `unknown` says in a few words what of the programs in front is not in their closed lists, "" if all is. `programs`
    are the words that name them.
    """

    words: tuple[str, ...]
    is_module: bool = False
    unknown: str = ""
    programs: tuple[str, ...] = ()


def unwrapped(words: tuple[str, ...], root: str) -> WrappedWords:
    """Return what is behind all wrappers."""
    found = WrappedWords(words=words)
    for _ in range(MOST_WRAPPED):
        each = (_wrapped(found, row, root) for row in RUNNER_TABLE.wrappers)
        inner = next((one for one in each if one is not None), None)
        if inner is None:
            return found
        found = inner
    return WrappedWords(words=())


def name_of_program(word: str) -> str:
    """Return the name of a program that is the one of this name: found by PATH, or in a folder of programs."""
    found = _PLACE.fullmatch(word)
    return "" if found is None else next(each for each in found.groups() if each)


def _wrapped(outer: WrappedWords, row: WrapperRow, root: str) -> WrappedWords | None:
    """Return what is behind one wrapper, None if the words do not begin with it."""
    words = outer.words
    size = _begins(words, row, is_module=outer.is_module)
    if not size:
        return None
    name = " ".join(words[:size])
    programs = outer.programs if outer.is_module else (*outer.programs, words[0])
    unknown = outer.unknown or ("" if outer.is_module else unknown_program(words[0], root))
    unknown = unknown or (f"`{name}`" if row.known is None else "")
    values, unsafe, positional, at = row.values.split(), row.unsafe.split(), row.positional, size
    while at < len(words):
        word, before = words[at], at
        if word in unsafe or word.partition("=")[0] in unsafe:
            return WrappedWords(words=())
        if row.module and word == "-m":
            return WrappedWords(words=words[at + 1 :], is_module=True, unknown=unknown, programs=programs)
        if word == "--":
            at += 1
            break
        if word.startswith("-"):
            at += 2 if word in values else 1
            unknown = unknown or _unknown_option(list(words[before:]), row, name, size=at - before)
        elif row.assigns and ASSIGNS.match(word):
            at += 1
            unknown = unknown or unknown_assignment(word)
        elif positional:
            positional, at = positional - 1, at + 1
            unknown = unknown or ("" if _POSITION.fullmatch(word) else f"`{word[:40]}` of {name}")
        else:
            break
    if row.module or (row.only and not re.fullmatch(row.only, words[at] if at < len(words) else "")):
        return None
    return WrappedWords(words=words[at:], unknown=unknown, programs=programs)


def _unknown_option(words: Sequence[str], row: WrapperRow, name: str, *, size: int) -> str:
    """Return the option in front if it is not known, or not one of `size` words with a plain value."""
    value = words[1] if size > 1 and len(words) > 1 else words[0].partition("=")[2]
    known = option_size(words, known_options(row.known or "")) == size
    return "" if known and (not value or _PLAIN_VALUE.fullmatch(value)) else f"option {words[0][:40]} of {name}"


def _begins(words: tuple[str, ...], row: WrapperRow, *, is_module: bool) -> int:
    """Return how many words name the wrapper, 0 if they do not. Only coverage is a wrapper as a module."""
    for each in row.words.split("|"):
        parts = each.split()
        head = (name_of_program(words[0]) if words else "", *words[1 : len(parts)])
        matches = len(head) == len(parts) and all(map(re.fullmatch, parts, head))
        if matches and (not is_module or parts[0] == "coverage"):
            return len(parts)
    return 0
