"""The tool `glob`: files by their paths."""

from __future__ import annotations

import heapq
import os
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath, as_tool_failure, resolve
from holdfast.system.threads import in_thread
from holdfast.text import valid_unicode
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import GLOB_SCHEMA, GlobArguments
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import cap, escape_newlines
from holdfast.tools.workspace.file_list import GitNames, RunProgram, git_names, listed_entries
from holdfast.tools.workspace.file_walk import WalkedFile, walk
from holdfast.tools.workspace.globs import Glob, globs, matches_any

_PATHS_MOST = 500

_TEXT_MOST = 64_000


class GlobTool:
    """Lists files by name, newest first."""

    schema = GLOB_SCHEMA
    effect: Effect = "read"

    def __init__(self, workspace: Workspace, run: RunProgram | None = None) -> None:
        """List files as git does if `run` is given, which runs it."""
        self._root = workspace.root
        self._spool = workspace.spool
        self._run = run

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a listing."""
        args = parse_arguments(arguments, GlobArguments, tool="glob")
        lead, pattern = _split(args.pattern)
        start = resolve(self._root, os.path.join(args.path, lead))  # noqa: PTH118 - resolve takes what models write
        patterns = globs(pattern)

        async def run(context: ToolContext) -> ToolOutput:
            listed = None
            if self._run is not None and start.path.is_dir():
                texts = [each.text for each in patterns]
                listed = await git_names(
                    self._run,
                    self._root,
                    start,
                    call=context.call,
                    spool=self._spool,
                    stop=context.stop,
                    globs=texts,
                )
            return await in_thread(partial(_list_files, self._root, start, listed, patterns, context), context.stop)

        return Plan(
            effect="read",
            title=escape_newlines(f"glob {args.pattern} in {args.path}"),
            outside=start.outside,
            reads=(str(start.path),),
            run=run,
        )


def _split(pattern: str) -> tuple[str, str]:
    """Return the folder before a glob pattern's first wildcard ("" if none), and the rest."""
    *folders, _ = segments = pattern.split("/")
    lead = list(takewhile(lambda part: not set(part) & set("*?[{"), folders))
    rest = [part for part in segments[len(lead) :] if part not in {"", "."}]
    if not rest or ".." in rest:
        msg = f"Pattern {pattern!r} names no files (expected a pattern such as 'src/**/*.py'). Call it again with one."
        raise ToolFailed(msg)
    return "".join(f"{part}/" for part in lead), "/".join(rest)


def _entries(
    root: Path,
    start: SafePath,
    listed: GitNames | None,
    patterns: Sequence[Glob],
    *,
    unread: list[str],
    stop: threading.Event,
) -> Iterator[WalkedFile]:
    """Yield what matches one of the patterns: of folders, only by a pattern without `**`."""
    shallow = [pattern for pattern in patterns if not pattern.deep]
    depth = max((len(pattern.names) for pattern in patterns), default=0) if len(shallow) == len(patterns) else None
    if listed is None:
        for entry in walk(root, start, stop=stop, unread=unread, depth=depth):
            if matches_any(shallow if entry.kind == "folder" else patterns, entry.name.split("/"), stop):
                yield entry
        return
    if shallow:  # git knows no folders
        for entry in walk(root, start, stop=stop, unread=[], depth=max(len(pattern.names) for pattern in shallow)):
            if entry.kind == "folder" and matches_any(shallow, entry.name.split("/"), stop):
                yield entry

    def fits(name: str) -> bool:
        return matches_any(patterns, name.split("/"), stop)

    yield from listed_entries(root, start, listed, fits, stop=stop, unread=unread)


def _list_files(
    root: Path,
    start: SafePath,
    listed: GitNames | None,
    patterns: Sequence[Glob],
    context: ToolContext,
    stop: threading.Event,
) -> ToolOutput:
    unread: list[str] = []
    count = hidden = 0

    def found() -> Iterator[WalkedFile]:
        nonlocal count, hidden
        for entry in _entries(root, start, listed, patterns, unread=unread, stop=stop):
            if context.has_read_rules and context.may_read(str(start.below(entry.name).path)) == "nothing":
                hidden += 1
                continue
            count += 1
            yield entry

    with as_tool_failure(start):
        newest = heapq.nsmallest(_PATHS_MOST, found(), key=lambda entry: (-entry.modified, entry.name))
    text = [start.below(entry.name).name + "/" * (entry.kind == "folder") for entry in newest]
    if not text:
        text.append(f"No files match {' or '.join(pattern.text for pattern in patterns)!r} in {start.name!r}.")
    if count > len(newest):
        text.append(f"[The newest {len(newest)} of {count} are shown. Narrow the pattern to see others.]")
    complete = listed is None or listed.complete
    return listing(text, unread, stopped=stop.is_set(), hidden=hidden, complete=complete)


def listing(  # noqa: PLR0913 - what may be missing
    text: list[str],
    unread: list[str],
    *,
    stopped: bool,
    hidden: int = 0,
    secrets: int = 0,
    unsearched: int = 0,
    complete: bool = True,
) -> ToolOutput:
    """Return the result, with a sentence for each way in which it is incomplete.

    Rules hide `hidden` files, `secrets` with secrets were not searched, and for `unsearched` there was no time.
    """
    if unsearched:
        files = "1 file was" if unsearched == 1 else f"{unsearched:,} files were"
        text.append(f"[{files} not searched: it took too long. Narrow `path` or `glob`, or write a simpler pattern.]")
    if not complete:
        text.append("[The folder has more files than are listed at once. Narrow `path`.]")
    if secrets:
        files = "1 file with secrets was" if secrets == 1 else f"{secrets} files with secrets were"
        text.append(f"[{files} not searched. Name one in `path` if you need it: the user is asked.]")
    if hidden:
        text.append(f"[{hidden} left out: rules do not allow them to be read here. Continue without, or ask the user.]")
    if unread:
        names = ", ".join(repr(name) for name in unread[:5])
        text.append(f"[{len(unread)} could not be read, among them {names}.]")
    if stopped:
        text.append("[Stopped before the search was complete.]")
    return ToolOutput(text=cap(valid_unicode("\n".join(text)), _TEXT_MOST), interrupted=stopped)
