"""Finding files by name and lines by pattern.

Two rules. Which files there are is always our own walk, so that ripgrep, where there is one, only says which lines of
them match: ignored files, links and results are the same with it and without. No search outlives a stop.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import shutil
import threading
from collections.abc import Awaitable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import msgspec

from holdfast.calls import Effect
from holdfast.errors import ToolFailed
from holdfast.text import valid_unicode
from holdfast.tools.arguments import parse, schema_of
from holdfast.tools.expressions import compiled
from holdfast.tools.files import holds_nul, lines, shown_line, text_of
from holdfast.tools.globs import Glob, globs, matches_any
from holdfast.tools.output import cap, one_line
from holdfast.tools.paths import Place, opened, resolve, told
from holdfast.tools.thread import in_thread
from holdfast.tools.tool import Context, Output, Plan, Workspace
from holdfast.tools.walk import Entry, walk

if TYPE_CHECKING:
    import regex

_PATHS_MOST = 500
_TEXT_MOST = 64_000
_LINE_SHOWN = 400
_LINE_SEARCHED = 1_000_000
_LINE_SECONDS = 0.5
_BATCH = 200  # files for one ripgrep or one thread: enough to be worth it, few enough to end soon


class GlobArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says to list."""

    pattern: Annotated[
        str, msgspec.Meta(description="Like 'src/**/*.py', '*.{ts,tsx}' or 'docs/*'; ** is any number of folders.")
    ]
    path: Annotated[str, msgspec.Meta(description="The folder to look in.")] = "."


class GrepArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says to search."""

    pattern: Annotated[str, msgspec.Meta(min_length=1, description="A regular expression, matched line by line.")]
    path: Annotated[str, msgspec.Meta(description="The folder or file to search.")] = "."
    glob: Annotated[
        str, msgspec.Meta(description="Search only files like this: '*.py' in any folder, 'src/**/*.py'.")
    ] = "*"
    ignore_case: Annotated[bool, msgspec.Meta(description="Match upper and lower case alike.")] = False
    context: Annotated[int, msgspec.Meta(ge=0, le=20, description="Lines to show around each match.")] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000, description="How many matching lines to show at most.")] = 100


class GlobTool:
    """Lists files by name, the newest first."""

    schema = schema_of(
        "glob",
        "List files whose path matches a pattern, the newest first. Files that .gitignore leaves out are not listed. "
        "Folders end with / and are listed only by patterns without **.",
        GlobArguments,
    )
    effect: Effect = "read"

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a listing."""
        wanted = parse(arguments, GlobArguments, tool="glob")
        lead, pattern = _split(wanted.pattern)
        start = resolve(self._root, os.path.join(wanted.path, lead))  # noqa: PTH118 - resolve takes what models write
        patterns = globs(pattern)

        async def run(context: Context) -> Output:
            return await in_thread(partial(_listed, self._root, start, patterns), context.stop)

        return Plan(
            effect="read", title=one_line(f"glob {wanted.pattern} in {wanted.path}"), outside=start.outside, run=run
        )


class Run(Protocol):
    """Runs a program for a call, which may leave what it writes in `spool` only if it is killed."""

    def __call__(self, argv: Sequence[str], /, *, call: str, cwd: Path, spool: Path) -> Awaitable[tuple[int, bytes]]:
        """Return its exit code and what it wrote to stdout; cancelling ends it."""
        ...


class GrepTool:
    """Searches the lines of text files, with ripgrep if there is one and `run` is given, else by itself."""

    schema = schema_of(
        "grep",
        "Search text files line by line for a regular expression; results are path:line:text. "
        "Binary files and files that .gitignore leaves out are not searched.",
        GrepArguments,
    )
    effect: Effect = "read"

    def __init__(self, workspace: Workspace, run: Run | None) -> None:
        self._root = workspace.root
        self._spool = workspace.spool
        self._run = run

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a search; raises `ToolFailed` if the pattern is not a regular expression."""
        wanted = parse(arguments, GrepArguments, tool="grep")
        pattern = compiled(wanted.pattern, ignore_case=wanted.ignore_case)
        start = resolve(self._root, wanted.path)

        async def run(context: Context) -> Output:
            return await self._search(wanted, pattern, start, context)

        return Plan(
            effect="read", title=one_line(f"grep {wanted.pattern} in {wanted.path}"), outside=start.outside, run=run
        )

    async def _search(
        self, wanted: GrepArguments, pattern: regex.Pattern[str], start: Place, context: Context
    ) -> Output:
        stop = context.stop
        unread: list[str] = []
        files = await in_thread(
            partial(_searchable, self._root, start, globs(wanted.glob, anywhere=True), unread), stop
        )
        shown: list[str] = []
        found = 0
        for at in range(0, len(files), _BATCH):
            if stop.is_set() or found > wanted.limit:
                break
            batch = files[at : at + _BATCH]
            most = wanted.limit - found + 1
            hits = await self._ripgrep(wanted, batch, most, context)
            if hits is None:
                hits = await in_thread(partial(_matching, pattern, batch, most, unread), stop)
            count, text = await in_thread(partial(_shown, hits, wanted.context, wanted.limit - found, unread), stop)
            found += count
            shown += text
        if shown[:1] == ["--"]:
            del shown[0]
        if not found:
            shown.append(f"No lines match {wanted.pattern!r} in {start.name!r} ({len(files)} files).")
        if found > wanted.limit:
            shown.append(f"[The first {wanted.limit} matches are shown, there are more. Narrow the search.]")
        return _told(shown, unread, stopped=stop.is_set())

    async def _ripgrep(
        self, wanted: GrepArguments, files: Sequence[Place], most: int, context: Context
    ) -> dict[Place, list[int]] | None:
        """Return the numbers of matching lines of each file, None if ripgrep is not there or could not say."""
        program = None if self._run is None else shutil.which("rg")
        if self._run is None or program is None:
            return None
        places = {str(file.path): file for file in files}
        # --text because what is binary is decided in one place, _shown; --max-columns=1 because only numbers are used.
        command = [program, "--no-config", "--no-ignore", "--text", "--crlf", "--no-mmap", "--no-messages"]
        command += ["--with-filename", "--null", "--line-number", "--no-heading", "--color=never", "--max-columns=1"]
        command += [f"--max-count={most}", *(["--ignore-case"] if wanted.ignore_case else [])]
        command += ["--", wanted.pattern, *places]
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
        # 0 some lines match, 1 none does; anything else is its own dialect or its own trouble, so we look ourselves.
        return _numbers(written, places) if code in (0, 1) else None


def _split(pattern: str) -> tuple[str, str]:
    """Return the folder that a glob pattern names before its first wildcard ("" if none), and the rest."""
    *folders, _ = segments = pattern.split("/")
    lead = list(takewhile(lambda part: not set(part) & set("*?[{"), folders))
    rest = [part for part in segments[len(lead) :] if part not in {"", "."}]
    if not rest or ".." in rest:
        msg = f"Pattern {pattern!r} names no files, one such as 'src/**/*.py' was expected. Call it again with one."
        raise ToolFailed(msg)
    return "".join(f"{part}/" for part in lead), "/".join(rest)


def _listed(root: Path, start: Place, patterns: Sequence[Glob], stop: threading.Event) -> Output:
    unread: list[str] = []
    shallow = [pattern for pattern in patterns if not pattern.deep]
    count = 0

    def found() -> Iterator[Entry]:
        nonlocal count
        for entry in walk(root, start, stop=stop, unread=unread):
            if matches_any(shallow if entry.kind == "folder" else patterns, entry.name.split("/"), stop):
                count += 1
                yield entry

    with told(start):
        newest = heapq.nsmallest(_PATHS_MOST, found(), key=lambda entry: (-entry.modified, entry.name))
    text = [start.below(entry.name).name + "/" * (entry.kind == "folder") for entry in newest]
    if not text:
        text.append(f"No files match {' or '.join(pattern.text for pattern in patterns)!r} in {start.name!r}.")
    if count > len(newest):
        text.append(f"[The newest {len(newest)} of {count} are shown. Narrow the pattern to see others.]")
    return _told(text, unread, stopped=stop.is_set())


def _searchable(
    root: Path, start: Place, patterns: Sequence[Glob], unread: list[str], stop: threading.Event
) -> list[Place]:
    """Return the files to search: `start` itself if it is one, else those beneath it that the glob lets through."""
    with told(start):
        try:
            found = walk(root, start, stop=stop, unread=unread)
            names = [entry.name for entry in found if entry.kind == "file"]
        except NotADirectoryError:
            return [start]
    return [start.below(name) for name in names if matches_any(patterns, name.split("/"), stop)]


def _matching(
    pattern: regex.Pattern[str], files: Sequence[Place], most: int, unread: list[str], stop: threading.Event
) -> dict[Place, list[int]]:
    """Return the numbers of the matching lines of each file, `most` of each at most."""
    hits: dict[Place, list[int]] = {}
    for place in files:
        try:
            with opened(place) as file:
                if holds_nul(file):
                    continue
                for number, (raw, _) in enumerate(lines(file, _LINE_SEARCHED, stop), 1):
                    # The timeout lets go of the interpreter: a pattern that backtracks for ever hurts only itself.
                    if pattern.search(text_of(raw, number), timeout=_LINE_SECONDS):
                        hits.setdefault(place, []).append(number)
                        if len(hits[place]) == most:
                            break
        except TimeoutError as error:
            msg = (
                f"Pattern {pattern.pattern!r} takes too long on a line of {place.name!r}, it backtracks. "
                "Write it without nested repetition and call it again."
            )
            raise ToolFailed(msg) from error
        except (OSError, ToolFailed):
            unread.append(place.name)
    return hits


def _numbers(written: bytes, places: dict[str, Place]) -> dict[Place, list[int]] | None:
    """Return what ripgrep's lines say, in the order of `places`; None if one of them is not understood."""
    hits: dict[Place, list[int]] = {place: [] for place in places.values()}
    for line in written.split(b"\n")[:-1]:
        name, _, rest = os.fsdecode(line).partition("\0")
        number = rest.partition(":")[0]
        if name not in places or not number.isdecimal():
            return None
        hits[places[name]].append(int(number))
    return {place: numbers for place, numbers in hits.items() if numbers}


def _shown(
    hits: dict[Place, list[int]], context: int, limit: int, unread: list[str], stop: threading.Event
) -> tuple[int, list[str]]:
    """Return how many matches there are (more than `limit` means just that), and the text of the first `limit`."""
    found = 0
    shown: list[str] = []
    for place, numbers in hits.items():
        matched = set(numbers[: max(0, limit - found)])
        around = {near for number in matched for near in range(number - context, number + context + 1)}
        try:
            with opened(place) as file:
                if holds_nul(file):
                    continue
                before = -1
                for number, (raw, size) in enumerate(lines(file, 4 * _LINE_SHOWN, stop), 1):
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


def _told(text: list[str], unread: list[str], *, stopped: bool) -> Output:
    """Return the result, with a sentence for each way in which it is not the whole of what was asked."""
    if unread:
        names = ", ".join(repr(name) for name in unread[:5])
        text.append(f"[{len(unread)} could not be read, among them {names}.]")
    if stopped:
        text.append("[Stopped before the search was complete.]")
    return Output(text=cap(valid_unicode("\n".join(text)), _TEXT_MOST), interrupted=stopped)
