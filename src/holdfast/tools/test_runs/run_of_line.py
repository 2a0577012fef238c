"""Finds the test run in a line of commands, and says whether the line's exit code is the runner's. Pure.

How it works. The parser gives the simple commands of the line, each with what hides its exit code. In front of a
runner, programs that only start it are left out (`uv run`, `timeout 60`, `env A=b`, `python -m`, `bash -c`). A runner
is known by its words, never by a text: `echo pytest` runs no test, `./pytest` is another program.

What makes the code unknown: a pipe, `;`, `||`, `!`, a substitution, the background, an `exit` before it, another PATH.
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
from holdfast.tools.test_runs.runner_table import OWN, RUNNER_TABLE, RunnerRow, WrapperRow

UNKNOWN_WORKSPACE = "/the workspace"
"""Stands for a workspace that is not known."""

_MOST_WRAPPED = 8
_ENDS_EARLY = frozenset({"exit", "return", "logout", "kill", "set", "hash"})
"""Programs of the shell before a runner, after which it may not run, or another program in its place."""
_CHANGES = frozenset({"PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV", "ENV", "NODE_OPTIONS", "PYTHONSTARTUP"})
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")
_ASSIGNS = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PLACE = re.compile(r"(?:.*/)?(?:bin|\.bin|Scripts)/([^/]+)|\./((?:gradlew|mvnw))|([^/]+)")


class FoundTests(msgspec.Struct, frozen=True, kw_only=True):
    """A run of tests: the `row` of the `runner`.

    `hidden` says in a few words what stands between its exit code and the line's, "" if nothing does. With `chained`,
    that is only commands behind `&&` that only read: exit code 0 is the runner's too. `elsewhere` is a folder outside
    of the workspace in which it runs, or which it names, "" if there is none.
    """

    runner: str
    row: RunnerRow
    hidden: str = ""
    chained: bool = False
    elsewhere: str = ""

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
    found = tuple(_found(line, tuple(tuple(each.split()) for each in own_tests), depth=0))
    if line.unclear or not found:
        return None
    last = found[-1]
    hidden = "it ran in the background" if background else _early(line) or last.hidden
    chained = not background and hidden == CHAINED and _only_reads(line.commands[last.at + 1 :])
    earlier = next((each.hidden for each in found[:-1] if each.hidden not in ("", CHAINED)), "")
    if earlier and not hidden:
        hidden = f"{earlier}, for a run before it"
    places = [place for each in found for place in _outside(each, root, join(root, folder))]
    return FoundTests(
        runner=last.name, row=last.row, hidden=hidden, chained=chained and not earlier, elsewhere=next(iter(places), "")
    )


def unknown_exit_note(command: str, exit_code: int | None) -> str:
    """Return the sentence that tells a model that a line's exit code is not that of its tests, "" if it is."""
    found = found_tests(command)
    if found is None or found.knows(exit_code) or exit_code is None:
        return ""
    return (
        f"\n[Whether the tests passed is not known: between the exit code of {found.runner} and this one stands "
        f"{found.hidden}. Run the tests as the last command, without a pipe, to know it.]"
    )


def _early(line: CommandLine) -> str:
    """Return what in the line may let it end before the runner, or change what runs, "" if nothing does."""
    for each in line.commands:
        name = each.words[0].text if each.words else ""
        if name in _ENDS_EARLY and not (name == "set" and _keeps_running(each)):
            return f"`{name}`"
        named = {assigned.name for assigned in each.assignments}
        named |= {found[1] for word in each.words for found in [_ASSIGNS.match(word.raw)] if found}
        if changed := sorted(named & _CHANGES):
            return f"another {changed[0]}"
    return ""


def _keeps_running(command: SimpleCommand) -> bool:
    """Return whether a `set` only makes the line stop at a failure, or shows what runs."""
    return all(
        word.fixed and re.fullmatch(r"[-+][euxv]*o?|pipefail|errexit|nounset", word.text) for word in command.words[1:]
    )


def _only_reads(commands: Sequence[SimpleCommand]) -> bool:
    return all(not more_than_reading(each) and not each.redirects for each in commands)


def _found(line: CommandLine, own_tests: tuple[tuple[str, ...], ...], *, depth: int) -> Iterator[_Found]:
    """Yield the test runs of a line, also those in the script of a shell."""
    if line.unclear or depth > _MOST_WRAPPED:
        return
    for at, (command, hidden) in enumerate(zip(line.commands, line.hidden, strict=True)):
        words, is_module = _unwrapped(tuple(word.text if word.fixed else word.raw for word in command.words))
        if (script := _script(words)) is not None:
            for each in _found(parse_script(script), own_tests, depth=depth + 1):
                folders = tuple((*outer, *inner) for outer in command.folders for inner in each.folders)
                yield msgspec.structs.replace(each, hidden=hidden or each.hidden, folders=folders, at=at)
        elif (found := _row(words, own_tests, is_module=is_module)) is not None:
            row, name = found
            extra = tuple(
                word
                for assigned in command.assignments
                if assigned.name.endswith("ADDOPTS")
                for word in assigned.value.text.split()
            )
            if _skips(row, (*words[1:], *extra)):
                continue
            ignored = next((word for word in words[1:] if word in row.hides.split()), "")
            yield _Found(
                row, name, words, hidden or (f"{ignored} ignores failures" if ignored else ""), command.folders, at
            )


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


def _unwrapped(words: tuple[str, ...]) -> tuple[tuple[str, ...], bool]:
    """Return the words of the program that is run in the end, and whether it is a module of Python's; () if unclear."""
    is_module = False
    for _ in range(_MOST_WRAPPED):
        inner = _inner(words, is_module=is_module)
        if inner is None:
            return words, is_module
        words, is_module = inner
    return (), False


def _inner(words: tuple[str, ...], *, is_module: bool) -> tuple[tuple[str, ...], bool] | None:
    found = (_wrapped(words, row, is_module=is_module) for row in RUNNER_TABLE.wrappers)
    return next((each for each in found if each is not None), None)


def _wrapped(words: tuple[str, ...], row: WrapperRow, *, is_module: bool) -> tuple[tuple[str, ...], bool] | None:
    """Return the words behind a wrapper, and whether they begin with a module; None for other words."""
    size = _begins(words, row, is_module=is_module)
    if not size:
        return None
    values, unsafe, positional, at = row.values.split(), row.unsafe.split(), row.positional, size
    while at < len(words):
        word = words[at]
        if word in unsafe or word.partition("=")[0] in unsafe:
            return (), False
        if row.module and word == "-m":
            return words[at + 1 :], True
        if word == "--":
            at += 1
            break
        if word.startswith("-"):
            at += 2 if word in values else 1
        elif row.assigns and _ASSIGNS.match(word):
            at += 1
        elif positional:
            positional, at = positional - 1, at + 1
        else:
            break
    if row.module or (row.only and not re.fullmatch(row.only, words[at] if at < len(words) else "")):
        return None
    return words[at:], False


def _begins(words: tuple[str, ...], row: WrapperRow, *, is_module: bool) -> int:
    """Return how many words name the wrapper, 0 if they do not. Only coverage is a wrapper as a module."""
    for each in row.words.split("|"):
        parts = each.split()
        head = (_program(words[0]) if words else "", *words[1 : len(parts)])
        matches = len(head) == len(parts) and all(map(re.fullmatch, parts, head))
        if matches and (not is_module or parts[0] == "coverage"):
            return len(parts)
    return 0


def _program(word: str) -> str:
    """Return the name of a program that is the one of this name: found by PATH, or in a folder of programs."""
    found = _PLACE.fullmatch(word)
    return "" if found is None else next(each for each in found.groups() if each)


def _row(
    words: tuple[str, ...], own_tests: tuple[tuple[str, ...], ...], *, is_module: bool
) -> tuple[RunnerRow, str] | None:
    """Return the row of a runner with its name, None if the words run no tests."""
    if not words:
        return None
    for each in own_tests:
        if each and words[: len(each)] == each:
            return OWN, " ".join(each)
    program = _program(words[0])
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
