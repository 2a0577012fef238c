"""The mutants that `make mutants` tries, as the files of this folder list them, and what a list must not have.

A mutant is one change of the source that breaks a promise or a rule. It names the tests that must fail with it, or why
no test can.
"""

from __future__ import annotations

import ast
import json
import tomllib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

SOURCE = "src/holdfast/"


class Mutant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`find`, which the file has once, replaced: `tests` must fail then, or none can, for the reason `equivalent`."""

    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""

    @property
    def package(self) -> str:
        """Return the package of the file, its module where that is in none."""
        return package(self.file)

    def applied(self, text: str) -> str:
        """Return the text of the file with the change; raises `ValueError` if it is not once in it."""
        if (times := text.count(self.find)) != 1:
            raise ValueError(f"{self.file} has its text {times} times (expected once)")
        return text.replace(self.find, self.replace)


READERS: Mapping[str, Callable[[str], object]] = {".py": ast.parse, ".json": json.loads, ".toml": tomllib.loads}
"""What reads a file that a mutant may change, by its ending. They raise `SyntaxError` or `ValueError`."""


def package(file: str) -> str:
    """Return the package of a file of the source, its module where that is in none."""
    first = file.removeprefix(SOURCE).split("/")
    return first[0].removesuffix(".py")


class _List(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mutant: tuple[Mutant, ...]


def mutants(text: str) -> tuple[Mutant, ...]:
    """Return what a file lists; raises `msgspec.ValidationError` for a field that no mutant has, or one missing."""
    return msgspec.toml.decode(text, type=_List).mutant


def listed(folder: Path) -> tuple[Mutant, ...]:
    """Return every mutant of the lists in a folder."""
    return tuple(each for path in sorted(folder.glob("*.toml")) for each in mutants(path.read_text(encoding="utf-8")))


def wrong(found: Sequence[Mutant], root: Path, *, written: Container[str]) -> Iterator[str]:
    """Yield what is wrong with the lists; `written` are the tests there are, as `path::name`."""
    for name, times in Counter(each.name for each in found).items():
        if times > 1:
            yield f"{name!r} is listed {times} times"
    for each in found:
        yield from (f"{each.name!r}: {what}" for what in _wrong(each, root, written))


def without(found: Sequence[Mutant], root: Path) -> Iterator[str]:
    """Yield each package of the source that has no mutant."""
    folders = sorted(path.parent.name for path in (root / SOURCE).glob("*/__init__.py"))
    yield from (name for name in folders if name not in {each.package for each in found})


def _wrong(each: Mutant, root: Path, written: Container[str]) -> Iterator[str]:
    path = root / each.file
    if not each.file.startswith(SOURCE) or not path.is_file():
        yield f"{each.file} is no file of the source"
        return
    try:
        READERS[path.suffix](each.applied(path.read_text(encoding="utf-8")))
    except SyntaxError as error:
        yield f"with it {each.file} is no Python: {error}"
    except KeyError:
        yield f"{each.file} is neither Python nor a table of facts"
    except ValueError as error:
        yield str(error)
    if each.find == each.replace:
        yield "it changes nothing"
    if bool(each.tests) == bool(each.equivalent):
        yield "it has tests and a reason for none, or neither"
    for test in each.tests:
        if test.partition("[")[0] not in written:
            yield f"{test} is not there"
