"""Asks other programs which files may have a line that matches: ripgrep, else grep, else a worker of holdfast.

All are handed the same list of files, in its order and in batches by the length of their arguments (`xargs`), and
answer with names in that order. Which lines match is not asked: `line_search` decides, so the way makes no difference
to the answer. The supervisor of the session runs them, so they end with it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.threads import in_daemon
from holdfast.system.trusted_programs import trusted_program
from holdfast.tools.builtin.byte_pattern import byte_pattern, for_ripgrep
from holdfast.tools.builtin.line_search import OWN_SECONDS
from holdfast.tools.builtin.search_worker import WORKER_PROGRAM
from holdfast.tools.process.supervisor_client import CAPTURE_MOST
from holdfast.tools.workspace.file_list import RunProgram, output_until

_ARGUMENTS_MOST = 1_000_000  # bytes of arguments, where the system takes as many
_BATCHES = """\
xargs=$1; size=$2; one=$3; list=$4; shift 4
exec "$xargs" -0 -s "$size" /bin/sh -c "$one" sh "$@" <"$list"
"""
_ONE = 'LC_ALL=C "$@"; test $? -lt 2'
_WORKER = 'list=$1; shift; exec "$@" <"$list"'
_WRITTEN_AT_ONCE = 10_000
_SOME_FAILED = 123
"""The code of `xargs` when a program failed in one batch or more; it went on."""

_RIPGREP = (
    *("--no-config", "--no-ignore", "--text", "--no-mmap", "--no-messages", "--color=never"),
    *("--files-with-matches", "--null"),
)
_GREP = ("-a", "-E", "-s", "-l", "--null", "-D", "skip")


class Candidates(msgspec.Struct, frozen=True):
    """Names of files that may match, in order, after which nothing more was asked about `unsearched` files.

    `rest` is where the next question begins, None if all was asked.
    """

    names: list[str]
    rest: int | None = None
    unsearched: int = 0


class _Way(msgspec.Struct, frozen=True):
    """A command that answers with names, in the order of the list unless it `has_order` False."""

    words: Sequence[str]
    has_order: bool = True


class SearchPrograms:
    """The ways to find files for one pattern below one folder."""

    def __init__(self, run: RunProgram, *, root: Path, here: Path, spool: Path, call: str) -> None:
        """Take no program of the workspace `root`, run in `here`."""
        self._run = run
        self._root = root
        self._here = here
        self._list = spool / f"{call}.list"
        self._spool = spool / f"{call}.out"
        self._call = call

    async def candidates(
        self, pattern: str, names: Sequence[str], *, ignore_case: bool, stop: asyncio.Event
    ) -> Candidates | None:
        """Return the files that may have a matching line; None if no program can say, or once `stop` is set."""
        ways = [*self._programs(pattern, ignore_case=ignore_case), self._worker(pattern, ignore_case=ignore_case)]
        try:
            await in_daemon(lambda: self._write(names))
            for way in ways:
                running = self._run(way.words, call=self._call, cwd=self._here, spool=self._spool)
                done = await output_until(stop, running)
                if done is None:
                    return None
                answer = partial(_answer, *done, names, self._here, has_order=way.has_order)
                found = await in_daemon(answer)
                if found is not None:
                    return found
        except (ToolFailed, OSError):
            return None
        finally:
            self._list.unlink(missing_ok=True)
        return None

    def _write(self, names: Sequence[str]) -> None:
        with self._list.open("wb") as file:
            for at in range(0, len(names), _WRITTEN_AT_ONCE):
                part = names[at : at + _WRITTEN_AT_ONCE]
                file.write(os.fsencode("\0".join("./-" if name == "-" else name for name in part)) + b"\0")

    def _programs(self, pattern: str, *, ignore_case: bool) -> list[_Way]:
        """Return the commands of the first program that is installed, none if none reads the pattern alike.

        ripgrep is fastest where its answer has no order, so that must be a whole one. One that is cut is asked for
        again.
        """
        translated, xargs = byte_pattern(pattern, ignore_case=ignore_case), trusted_program("xargs", self._root)
        if translated is None or not xargs:
            return []
        if ripgrep := trusted_program("rg", self._root):
            words = [ripgrep, *_RIPGREP, "-e", for_ripgrep(translated), "--"]
            searches = [(words, False), ([ripgrep, "--threads=1", *words[1:]], True)]
        elif grep := trusted_program("grep", self._root):
            searches = [([grep, *_GREP, "-e", translated, "--"], True)]
        else:
            return []
        size = str(min(_ARGUMENTS_MOST, os.sysconf("SC_ARG_MAX") // 2))
        batches = ["/bin/sh", "-c", _BATCHES, "sh", xargs, size, _ONE, str(self._list)]
        return [_Way([*batches, *words], has_order=has_order) for words, has_order in searches]

    def _worker(self, pattern: str, *, ignore_case: bool) -> _Way:
        modules = {str(Path(origin).parents[1]) for origin in map(_origin, ("holdfast", "regex", "msgspec")) if origin}
        python = [sys.executable, "-I", "-S", "-X", "utf8", "-c", WORKER_PROGRAM, "\x1f".join(sorted(modules))]
        words = [pattern, "i" if ignore_case else "", f"{OWN_SECONDS:g}"]
        return _Way(["/bin/sh", "-c", _WORKER, "sh", str(self._list), *python, *words])


def _origin(module: str) -> str | None:
    spec = find_spec(module)
    return None if spec is None else spec.origin


def _answer(code: int, output: bytes, names: Sequence[str], here: Path, *, has_order: bool) -> Candidates | None:
    """Return what a program's output says, None if that is no answer.

    One without order that was cut is none: it found too much, or took too long. In order it says where it stopped.
    """
    names_found, unsearched = _parse_output(output)
    ordered = [name for name in names if name in names_found]
    if len(ordered) != len(names_found):
        return None
    after = names.index(ordered[-1]) + 1 if ordered else 0
    is_cut = len(output) >= CAPTURE_MOST  # it may have ended before it was stopped
    if is_cut:
        return Candidates(ordered, rest=after) if ordered and has_order else None
    if code == 0:
        return Candidates(ordered, unsearched=unsearched)
    if code == _SOME_FAILED:  # with each file that can be read, the search itself has failed
        unread = {name for name in names if not os.access(here / name, os.R_OK)}
        return Candidates([name for name in names if name in names_found or name in unread]) if unread else None
    return Candidates(ordered, unsearched=len(names) - after) if code < 0 and has_order else None  # it took too long


def _parse_output(output: bytes) -> tuple[set[str], int]:
    """Return the names in an output, and what a worker writes after them: how many files it did not search."""
    parts = output.split(b"\0")[:-1]
    unsearched = 0
    if b"" in parts:
        end = parts.index(b"")
        count = parts[-1]
        parts, unsearched = parts[:end], int(count) if count.isdigit() else 0
    found = {os.fsdecode(part) for part in parts}
    return (found - {"./-"} | {"-"} if "./-" in found else found), unsearched
