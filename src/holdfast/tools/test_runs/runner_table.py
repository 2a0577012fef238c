"""The table of test runners, `runners.json`: how each is called, and what its end says.

A runner is here if its exit code is 0 only where its tests passed. Of one that is also 0 where there was no test
(`counted`), the number must be read from its output. What an `opaque` one runs is the project's own decision.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from holdfast.typed_data import decode_json


class WrapperRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A program that runs the words behind it. Each of its `words` alternatives is one or two words.

    `values` are options with a value, `unsafe` those behind which it is not clear what runs where. `positional` words
    stand before the program. With `assigns`, `A=b` may stand there, with `module`, `-m NAME` names the program. `only`
    is a pattern for the program, if it runs no other. `known` are all options with which its exit code is the
    program's; None if it never is.
    """

    words: str
    values: str = ""
    unsafe: str = ""
    positional: int = 0
    assigns: bool = False
    module: bool = False
    only: str = ""
    known: str | None = None


class RunnerRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A test runner.

    `line` are patterns for the program and for the words behind it that are no options; with `anywhere`, the last of
    them is for any of these. `module` is whether it is called by `python -m` alone. `values` are options with a value,
    `needs` one that it must have, `skips` words with which no test runs, `hides` those with which failures are ignored.
    `none_codes` are exit codes, and `none_lines` patterns for lines, of a run without a test. `counts` are patterns for
    lines that say how many ran; an empty group counts as one. `known` are all options with which the exit code says
    that tests passed, `known_behind` those behind `--`, and `operands` is a pattern for each other word.
    """

    name: str
    line: tuple[str, ...]
    values: str = ""
    needs: str = ""
    skips: str = ""
    known: str = ""
    known_behind: str = ""
    operands: str = "(?s:.+)"
    hides: str = ""
    none_codes: tuple[int, ...] = ()
    none_lines: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    counted: bool = False
    opaque: bool = False
    module: bool = False
    anywhere: bool = False


class RunnerTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole table. `test_files` are patterns for the paths of tests."""

    wrappers: tuple[WrapperRow, ...]
    runners: tuple[RunnerRow, ...]
    test_files: tuple[str, ...]


RUNNER_TABLE = decode_json(Path(__file__).with_name("runners.json").read_bytes(), RunnerTable)

OWN = RunnerRow(name="", line=(), opaque=True)
"""The row of a command that the user calls a test run."""

_LONGEST = 1_000_000
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def count_of_tests(row: RunnerRow, exit_code: int | None, output: str) -> int | None:
    """Return how many tests ran, as far as the end of the runner says it; None if that is not known."""
    if exit_code is not None and exit_code in row.none_codes:
        return 0
    lines = _COLOURS.sub("", output[-_LONGEST:]).splitlines()
    found = [int(each[1] or 1) for line in lines for pattern in row.counts for each in re.finditer(pattern, line)]
    if found:
        return sum(found)
    return 0 if any(re.search(pattern, line) for line in lines for pattern in row.none_lines) else None


def is_test_file(path: str) -> bool:
    """Return whether a path looks like that of a test."""
    return any(re.fullmatch(pattern, path) for pattern in RUNNER_TABLE.test_files)
