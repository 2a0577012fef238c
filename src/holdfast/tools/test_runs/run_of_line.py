"""Finds the test run in a line of commands, and says whether the line's exit code is the runner's. Pure.

How it works. The parser gives the simple commands of the line, each with what hides its exit code. In front of a
runner, programs that only start it are left out (`uv run`, `timeout 60`, `env A=b`, `python -m`, `bash -c`). A runner
is known by its words, never by a text: `echo pytest` runs no test, `./pytest` is another program.

What makes the code unknown: a pipe, `;`, `||`, `!`, a substitution, the background, and all that the closed grammar of
`believed_lines.py` does not know: an option, a variable, a command of the shell before it, a script in the line.
`pytest && echo ok` ends with 0 only if the tests passed, and what is behind `&&` only reads: that counts, with code 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from posixpath import isabs, join, normpath

import msgspec

from holdfast.tools.shell.command_line import CHAINED, CommandLine, Folder, SimpleCommand
from holdfast.tools.shell.parse import parse_script
from holdfast.tools.shell.read_only import more_than_reading
from holdfast.tools.test_runs.believed_lines import (
    unknown_arguments,
    unknown_before,
    unknown_program,
    unknown_redirect,
    unknown_variable,
    unknown_word,
)
from holdfast.tools.test_runs.runner_table import OWN, RUNNER_TABLE, RunnerRow
from holdfast.tools.test_runs.wrapped_words import MOST_WRAPPED, name_of_program, unwrapped

UNKNOWN_WORKSPACE = "/the workspace"
"""Stands for a workspace that is not known."""

_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")


class FoundTests(msgspec.Struct, frozen=True, kw_only=True):
    """A run of tests: the `row` of the `runner`.

    `hidden` says in a few words what stands between its exit code and the line's, "" if nothing does. With `chained`,
    that is only commands behind `&&` that only read: exit code 0 is the runner's too. `elsewhere` is a folder outside
    of the workspace in which it runs, or which it names, "" if there is none. `programs` are the paths in the workspace
    of programs that it names by their path.
    """

    runner: str
    row: RunnerRow
    hidden: str = ""
    chained: bool = False
    elsewhere: str = ""
    programs: tuple[str, ...] = ()

    def knows(self, exit_code: int | None) -> bool:
        """Return whether the line's exit code is the runner's."""
        return exit_code is not None and (not self.hidden or (self.chained and exit_code == 0))


class _Found(msgspec.Struct, frozen=True):
    row: RunnerRow
    name: str
    words: tuple[str, ...]
    hidden: str
    folders: tuple[Folder, ...]
    at: int
    unknown: str
    programs: tuple[str, ...]


def found_tests(
    command: str,
    *,
    root: str = UNKNOWN_WORKSPACE,
    folder: str = "",
    own_tests: Sequence[str] = (),
    background: bool = False,
) -> FoundTests | None:
    """Return the last test run of a line that starts in the `folder` of the workspace `root`, None if it runs none.

    `own_tests` are commands that the user calls test runs. Several runs in a line count as one: each must decide it.
    """
    line = parse_script(command)
    found = tuple(_found(line, tuple(tuple(each.split()) for each in own_tests), root, depth=0))
    if line.unclear or not found:
        return None
    last = found[-1]
    hidden = "it ran in the background" if background else last.hidden
    chained = hidden == CHAINED and _only_reads(line.commands[last.at + 1 :])
    if hidden in ("", CHAINED):
        hidden = next(_unknown(line, found, chained=chained), hidden)
        chained = chained and hidden == CHAINED
    start = join(root, folder)
    places = [place for each in found for place in _outside(each, root, start)]
    return FoundTests(
        runner=last.name,
        row=last.row,
        hidden=hidden,
        chained=chained,
        elsewhere=next(iter(places), ""),
        programs=tuple(path for each in found for path in _programs(each, root, start)),
    )


def unknown_exit_note(command: str, exit_code: int | None, *, root: str = UNKNOWN_WORKSPACE) -> str:
    """Return the sentence that tells a model that a line's exit code is not that of its tests, "" if it is."""
    found = found_tests(command, root=root)
    if found is None or found.knows(exit_code) or exit_code is None:
        return ""
    return (
        f"\n[Whether the tests passed is not known: between the exit code of {found.runner} and this one stands "
        f"{found.hidden}. Run the tests in a plain line, such as `pytest -q`, without a pipe, to know it.]"
    )


def _unknown(line: CommandLine, found: Sequence[_Found], *, chained: bool) -> Iterator[str]:
    """Yield what of the line is outside of the closed grammar, and what hides the end of a run before the last."""
    runs = {each.at for each in found}
    for at, command in enumerate(line.commands):
        if at not in runs and not (chained and at > found[-1].at):
            yield from filter(None, [unknown_before(command, line.hidden[at])])
    yield from (each.unknown for each in found if each.unknown)
    yield from (f"{each.hidden}, for a run before it" for each in found[:-1] if each.hidden not in ("", CHAINED))


def _only_reads(commands: Sequence[SimpleCommand]) -> bool:
    return all(not more_than_reading(each) and not each.redirects for each in commands)


def _found(line: CommandLine, own_tests: tuple[tuple[str, ...], ...], root: str, *, depth: int) -> Iterator[_Found]:
    """Yield the test runs of a line, also those in the script of a shell."""
    if line.unclear or depth > MOST_WRAPPED:
        return
    for at, (command, hidden) in enumerate(zip(line.commands, line.hidden, strict=True)):
        inner = unwrapped(tuple(word.text if word.fixed else word.raw for word in command.words), root)
        words = inner.words
        if (script := _script(words)) is not None:
            for each in _found(parse_script(script), own_tests, root, depth=depth + 1):
                folders = tuple((*outer, *more) for outer in command.folders for more in each.folders)
                yield msgspec.structs.replace(
                    each, hidden=hidden or each.hidden, folders=folders, at=at, unknown="the script of a shell"
                )
        elif (found := _row(words, own_tests, is_module=inner.is_module)) is not None:
            row, name = found
            extra = tuple(
                word
                for assigned in command.assignments
                if assigned.name.endswith("ADDOPTS")
                for word in assigned.value.text.split()
            )
            if _skips(row, (*words[1:], *extra)):
                continue
            programs = inner.programs if inner.is_module else (*inner.programs, words[0])
            unknown = unknown_redirect(command.redirects) or unknown_variable(command) or inner.unknown
            unknown = (
                unknown
                or unknown_word(command.words)
                or _unknown_run(words, row, name, root, is_module=inner.is_module)
            )
            yield _Found(row, name, words, hidden, command.folders, at, unknown, programs)


def _unknown_run(words: tuple[str, ...], row: RunnerRow, name: str, root: str, *, is_module: bool) -> str:
    """Return what of a runner and its words is not known."""
    if row is OWN:
        more = words[len(name.split()) :]
        return f"`{more[0][:40]}` behind {name}" if more else ""
    ignored = next((word for word in words[1:] if word in row.hides.split()), "")
    if ignored:
        return f"{ignored} ignores failures"
    return ("" if is_module else unknown_program(words[0], root)) or unknown_arguments(words[1:], row, row.name)


def _script(words: tuple[str, ...]) -> str | None:
    """Return the script of `bash -c`, None for another command."""
    if not words or not _SHELL.fullmatch(words[0]):
        return None
    for at, word in enumerate(words[1:], 1):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[at + 1] if at + 1 < len(words) else None
        if not re.fullmatch(r"-[a-z]+", word):
            return None
    return None


def _row(
    words: tuple[str, ...], own_tests: tuple[tuple[str, ...], ...], *, is_module: bool
) -> tuple[RunnerRow, str] | None:
    """Return the row of a runner with its name, None if the words run no tests."""
    if not words:
        return None
    for each in own_tests:
        if each and words[: len(each)] == each:
            return OWN, " ".join(each)
    program = name_of_program(words[0])
    for row in RUNNER_TABLE.runners:
        if not re.fullmatch(row.line[0], program) or (row.module and not is_module):
            continue
        if row.needs and row.needs not in words:
            continue
        rest = _operands(words[1:], row)
        patterns = row.line[1:]
        if row.anywhere:
            if any(re.fullmatch(patterns[0], word) for word in rest):
                return row, row.name
        elif len(rest) >= len(patterns) and all(map(re.fullmatch, patterns, rest)):
            return row, row.name
    return None


def _operands(words: tuple[str, ...], row: RunnerRow) -> list[str]:
    """Return the words that are neither options nor their values."""
    values, found, at = row.values.split(), list[str](), 0
    while at < len(words):
        if words[at].startswith(("-", "+")):
            at += 2 if words[at] in values else 1
        else:
            found.append(words[at])
            at += 1
    return found


def _skips(row: RunnerRow, words: Sequence[str]) -> bool:
    skips = row.skips.split()
    return any(word in skips or word.partition("=")[0] in skips for word in words)


def _programs(found: _Found, root: str, start: str) -> Iterator[str]:
    """Yield where in the workspace the programs of a run are that it names by their path."""
    for steps in found.folders:
        at = normpath(join(start, *(step.text for step in steps)))
        paths = [normpath(join(at, word)) for word in found.programs if "/" in word]
        yield from (path.removeprefix(f"{root.rstrip('/')}/") for path in paths if _inside(path, root))


def _outside(found: _Found, root: str, start: str) -> Iterator[str]:
    """Yield the folders outside of the workspace in which a run may be, or which its words name."""
    for steps in found.folders:
        at = normpath(start)
        for step in steps:
            known = step.fixed and step.text not in ("", "-") and not step.text.startswith("~")
            at = normpath(join(at, step.text)) if known else ""
            if not known:
                yield step.raw
                break
        if at and not _inside(at, root):
            yield at
        for word in found.words[1:]:
            for piece in re.split(r"[=:]", word.lstrip("-")):
                named = normpath(join(at or root, piece)) if isabs(piece) or ".." in piece.split("/") else root
                if piece.startswith("~") or not _inside(named, root):
                    yield piece


def _inside(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root.rstrip('/')}/")
