"""The tool `glob`: files by their paths."""

from __future__ import annotations

import heapq
import os
import threading
from collections.abc import Callable, Iterator, Sequence
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
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Visibility, Workspace
from holdfast.tools.truncation import cap, escape_newlines
from holdfast.tools.workspace.file_walk import WalkedFile, walk
from holdfast.tools.workspace.globs import Glob, globs, matches_any

_PATHS_MOST = 500

_TEXT_MOST = 64_000


class GlobTool:
    """Lists files by name, newest first."""

    schema = GLOB_SCHEMA
    effect: Effect = "read"

    def __init__(self, workspace: Workspace) -> None:
        self._root = workspace.root

    def plan(self, call: str, arguments: str) -> Plan:  # noqa: ARG002 - the Tool protocol's
        """Return the plan of a listing."""
        args = parse_arguments(arguments, GlobArguments, tool="glob")
        lead, pattern = _split(args.pattern)
        start = resolve(self._root, os.path.join(args.path, lead))  # noqa: PTH118 - resolve takes what models write
        patterns = globs(pattern)

        async def run(context: ToolContext) -> ToolOutput:
            return await in_thread(partial(_list_files, self._root, start, patterns, context.may_read), context.stop)

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


def _list_files(
    root: Path,
    start: SafePath,
    patterns: Sequence[Glob],
    may_read: Callable[[str], Visibility],
    stop: threading.Event,
) -> ToolOutput:
    unread: list[str] = []
    shallow = [pattern for pattern in patterns if not pattern.deep]
    count = hidden = 0

    def found() -> Iterator[WalkedFile]:
        nonlocal count, hidden
        for entry in walk(root, start, stop=stop, unread=unread):
            if matches_any(shallow if entry.kind == "folder" else patterns, entry.name.split("/"), stop):
                if may_read(str(start.below(entry.name).path)) == "nothing":
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
    return listing(text, unread, stopped=stop.is_set(), hidden=hidden)


def listing(text: list[str], unread: list[str], *, stopped: bool, hidden: int = 0, secrets: int = 0) -> ToolOutput:
    """Return the result, with a sentence for each way in which it is incomplete.

    Rules hide `hidden` files, and `secrets` with secrets were not searched.
    """
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
