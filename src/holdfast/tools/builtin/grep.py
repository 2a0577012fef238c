"""The tool `grep`: lines by pattern.

holdfast always lists the files itself; ripgrep, if installed, only says which lines match. Ignored files, links and
results are therefore the same with and without it. No search outlives a stop.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath, as_tool_failure, open_regular, resolve
from holdfast.system.threads import in_thread
from holdfast.system.trusted_programs import trusted_program
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import GREP_SCHEMA, GrepArguments
from holdfast.tools.builtin.glob import listing
from holdfast.tools.builtin.read_write import holds_nul, line_text, read_lines, shown_line
from holdfast.tools.builtin.regular_expressions import compile_pattern, means_the_same_to_ripgrep
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import escape_newlines
from holdfast.tools.workspace.file_walk import walk
from holdfast.tools.workspace.globs import Glob, globs, matches_any

if TYPE_CHECKING:
    import regex

_LINE_SHOWN = 400
_LINE_SEARCHED = 1_000_000
_LINE_SECONDS = 0.5
_BATCH = 200  # files per ripgrep or thread: enough to be worth it, few enough to end soon


class RunProgram(Protocol):
    """Runs a program for a call. Its output file `spool` is left behind only if it is killed."""

    def __call__(self, argv: Sequence[str], /, *, call: str, cwd: Path, spool: Path) -> Awaitable[tuple[int, bytes]]:
        """Return its exit code and stdout. Cancelling ends it."""
        ...


class GrepTool:
    """Searches the lines of text files, with ripgrep if installed and `run` is given, else in Python."""

    schema = GREP_SCHEMA
    effect: Effect = "read"

    def __init__(self, workspace: Workspace, run: RunProgram | None) -> None:
        self._root = workspace.root
        self._spool = workspace.spool
        self._run = run

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a search; raises `ToolFailed` for an invalid regular expression."""
        args = parse_arguments(arguments, GrepArguments, tool="grep")
        pattern = compile_pattern(args.pattern, ignore_case=args.ignore_case)
        start = resolve(self._root, args.path)

        async def run(context: ToolContext) -> ToolOutput:
            return await self._search(args, pattern, start, context)

        return Plan(
            effect="read",
            title=escape_newlines(f"grep {args.pattern} in {args.path}"),
            outside=start.outside,
            reads=(str(start.path),),
            run=run,
        )

    async def _search(
        self, args: GrepArguments, pattern: regex.Pattern[str], start: SafePath, context: ToolContext
    ) -> ToolOutput:
        stop = context.stop
        unread: list[str] = []
        found_files = await in_thread(
            partial(_files_to_search, self._root, start, globs(args.glob, anywhere=True), unread), stop
        )
        shows = {file: context.may_read(str(file.path)) for file in found_files}
        files = [file for file in found_files if shows[file] == "all"]
        shown: list[str] = []
        found = 0
        for at in range(0, len(files), _BATCH):
            if stop.is_set() or found > args.limit:
                break
            batch = files[at : at + _BATCH]
            most = args.limit - found + 1
            hits = await self._ripgrep(args, batch, most, context)
            if hits is None:
                hits = await in_thread(partial(_matching_lines, pattern, batch, most, unread), stop)
            count, text = await in_thread(partial(_format_hits, hits, args.context, args.limit - found, unread), stop)
            found += count
            shown += text
        if shown[:1] == ["--"]:
            del shown[0]
        if not found:
            shown.append(f"No lines match {args.pattern!r} in {start.name!r} ({len(files)} files).")
        if found > args.limit:
            shown.append(f"[Only the first {args.limit} matches are shown. Narrow the search to see others.]")
        visible = [*shows.values()]
        return listing(
            shown, unread, stopped=stop.is_set(), hidden=visible.count("nothing"), secrets=visible.count("name")
        )

    async def _ripgrep(
        self, args: GrepArguments, files: Sequence[SafePath], most: int, context: ToolContext
    ) -> dict[SafePath, list[int]] | None:
        """Return the numbers of the matching lines of each file, None if ripgrep cannot find them."""
        program = "" if self._run is None else trusted_program("rg", self._root)
        if self._run is None or not program or not means_the_same_to_ripgrep(args.pattern):
            return None
        places = {str(file.path): file for file in files}
        # --text because _format_hits alone decides what is binary; --max-columns=1 because only line numbers are used.
        command = [program, "--no-config", "--no-ignore", "--text", "--crlf", "--no-mmap", "--no-messages"]
        command += ["--with-filename", "--null", "--line-number", "--no-heading", "--color=never", "--max-columns=1"]
        command += [f"--max-count={most}", *(["--ignore-case"] if args.ignore_case else [])]
        command += ["--", args.pattern, *places]
        spool = self._spool / f"{context.call}.out"
        searching = asyncio.ensure_future(self._run(command, call=context.call, cwd=self._root, spool=spool))
        stopping = asyncio.create_task(context.stop.wait())
        try:
            await asyncio.wait({searching, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not searching.done():
                searching.cancel()
                await asyncio.wait({searching}, timeout=1)
                return {}
            code, written = searching.result()
        except ToolFailed:
            return None
        finally:
            searching.cancel()
            stopping.cancel()
        # 0: some lines match, 1: none does. Anything else (its regex dialect, an error) means searching in Python.
        return _numbers(written, places) if code in (0, 1) else None


def _files_to_search(
    root: Path, start: SafePath, patterns: Sequence[Glob], unread: list[str], stop: threading.Event
) -> list[SafePath]:
    """Return the files to search: `start` if it is a file, else those beneath it that match the glob."""
    with as_tool_failure(start):
        try:
            found = walk(root, start, stop=stop, unread=unread)
            names = [entry.name for entry in found if entry.kind == "file"]
        except NotADirectoryError:
            return [start]
    return [start.below(name) for name in names if matches_any(patterns, name.split("/"), stop)]


def _matching_lines(
    pattern: regex.Pattern[str], files: Sequence[SafePath], most: int, unread: list[str], stop: threading.Event
) -> dict[SafePath, list[int]]:
    """Return the numbers of the matching lines of each file, at most `most` per file."""
    hits: dict[SafePath, list[int]] = {}
    for place in files:
        try:
            with open_regular(place) as file:
                if holds_nul(file):
                    continue
                for number, (raw, _) in enumerate(read_lines(file, _LINE_SEARCHED, stop), 1):
                    # The timeout keeps other threads running, so a pattern that backtracks forever stops only itself.
                    if pattern.search(line_text(raw, number), timeout=_LINE_SECONDS):
                        hits.setdefault(place, []).append(number)
                        if len(hits[place]) == most:
                            break
        except TimeoutError as error:
            msg = (
                f"Pattern {pattern.pattern!r} takes too long on a line of {place.name!r} because it backtracks. "
                "Write it without nested repetition and call it again."
            )
            raise ToolFailed(msg) from error
        except (OSError, ToolFailed):
            unread.append(place.name)
    return hits


def _numbers(written: bytes, places: dict[str, SafePath]) -> dict[SafePath, list[int]] | None:
    """Return the matches in ripgrep's output, in the order of `places`; None if a line cannot be parsed."""
    hits: dict[SafePath, list[int]] = {place: [] for place in places.values()}
    for line in written.split(b"\n")[:-1]:
        name, _, rest = os.fsdecode(line).partition("\0")
        number = rest.partition(":")[0]
        if name not in places or not number.isdecimal():
            return None
        hits[places[name]].append(int(number))
    return {place: numbers for place, numbers in hits.items() if numbers}


def _format_hits(
    hits: dict[SafePath, list[int]], context: int, limit: int, unread: list[str], stop: threading.Event
) -> tuple[int, list[str]]:
    """Return the number of matches (not exact above `limit`), and the first `limit` as text."""
    found = 0
    shown: list[str] = []
    for place, numbers in hits.items():
        matched = set(numbers[: max(0, limit - found)])
        around = {near for number in matched for near in range(number - context, number + context + 1)}
        try:
            with open_regular(place) as file:
                if holds_nul(file):
                    continue
                before = -1
                for number, (raw, size) in enumerate(read_lines(file, 4 * _LINE_SHOWN, stop), 1):
                    if number > max(around, default=0):
                        break
                    if number not in around:
                        continue
                    if context and number != before + 1:
                        shown.append("--")
                    mark = ":" if number in matched else "-"
                    shown.append(f"{place.name}{mark}{number}{mark}{shown_line(raw, size, number, most=_LINE_SHOWN)}")
                    before = number
        except (OSError, ToolFailed):
            unread.append(place.name)
            continue
        found += len(numbers)
    return found, shown
