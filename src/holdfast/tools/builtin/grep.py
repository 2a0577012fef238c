"""The tool `grep`: lines by pattern.

The list of files is that of `glob` and `@` (`file_list`). Other programs say in which of them something may be found
(`search_programs`), and holdfast finds the lines in those (`line_search`). Ignored files, links and results are
therefore the same with every program and without any. No search outlives a stop.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.errors import ToolFailed
from holdfast.system.safe_paths import SafePath, as_tool_failure, resolve
from holdfast.system.secret_files import perhaps_secret
from holdfast.system.threads import in_thread
from holdfast.tool_calls import Effect
from holdfast.tools.builtin.declarations import GREP_SCHEMA, GrepArguments
from holdfast.tools.builtin.glob import listing
from holdfast.tools.builtin.line_search import OWN_SECONDS, SearchDeadline, search_file
from holdfast.tools.builtin.regular_expressions import compile_pattern
from holdfast.tools.builtin.search_programs import SearchPrograms
from holdfast.tools.schema import parse_arguments
from holdfast.tools.tool import Plan, ToolContext, ToolOutput, Workspace
from holdfast.tools.truncation import escape_newlines
from holdfast.tools.workspace.file_list import GitNames, RunProgram, git_names, regular_files, walked_files
from holdfast.tools.workspace.globs import Glob, globs, matching_names

if TYPE_CHECKING:
    import regex


class GrepTool:
    """Searches the lines of text files, with installed programs if `run` is given, else in this process."""

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
        listed = None
        if self._run is not None and start.path.is_dir():
            listed = await git_names(self._run, self._root, start, call=context.call, spool=self._spool, stop=stop)
        choose = partial(
            _files_to_search, self._root, start, listed, globs(args.glob, anywhere=True), context, unread=unread
        )
        files = await in_thread(choose, stop)
        programs = None
        if self._run is not None and files.names and (not files.is_one or start.path.is_file()):
            here = start.path.parent if files.is_one else start.path
            programs = SearchPrograms(self._run, root=self._root, here=here, spool=self._spool, call=context.call)
        shown: list[str] = []
        found = unsearched = 0
        rest: Sequence[str] = files.names
        while rest and found <= args.limit and not stop.is_set():
            answer = None
            if programs is not None:
                answer = await programs.candidates(args.pattern, rest, ignore_case=args.ignore_case, stop=stop)
                if stop.is_set():
                    break
            names = rest if answer is None else answer.names
            work = partial(
                _matches,
                pattern,
                files,
                names,
                context=args.context,
                most=args.limit - found,
                unread=unread,
                deadline=SearchDeadline(OWN_SECONDS),
            )
            count, text, left = await in_thread(work, stop)
            found += count
            shown += text
            rest = [] if answer is None or answer.rest is None else rest[answer.rest :]
            unsearched += left + (0 if answer is None else answer.unsearched)
            if left:
                unsearched += len(rest)
                break
        if shown[:1] == ["--"]:
            del shown[0]
        if not found:
            searched = len(files.names) - unsearched
            shown.append(f"No lines match {args.pattern!r} in {start.name!r} ({searched} files).")
        if found > args.limit:
            unsearched = 0  # no more was looked for
            shown.append(f"[Only the first {args.limit} matches are shown. Narrow the search to see others.]")
        return listing(
            shown,
            unread,
            stopped=stop.is_set(),
            hidden=files.hidden,
            secrets=files.secrets,
            unsearched=unsearched,
            complete=files.is_complete,
        )


class _Files(msgspec.Struct, frozen=True):
    """The files to search below `start`, or that one file; how many are hidden, and how many hold secrets."""

    start: SafePath
    names: list[str]
    is_one: bool = False
    hidden: int = 0
    secrets: int = 0
    is_complete: bool = True

    def place(self, name: str) -> SafePath:
        """Return the place of one of the names."""
        return self.start if self.is_one else self.start.below(name)


def _files_to_search(  # noqa: PLR0913 - what a search is made of
    root: Path,
    start: SafePath,
    listed: GitNames | None,
    patterns: Sequence[Glob],
    context: ToolContext,
    stop: threading.Event,
    *,
    unread: list[str],
) -> _Files:
    """Return the files to search: `start` if it is a file, else those beneath it that match the glob."""
    is_one = False
    with as_tool_failure(start):
        try:
            if listed is None:
                groups = walked_files(root, start, stop=stop, unread=unread)
            else:
                groups = regular_files(root, start, listed, stop=stop, unread=unread)
        except NotADirectoryError:
            groups = {"": [start.path.name]}
            is_one = True
    names: list[str] = []
    hidden = secrets = 0
    for folder, last_names in groups.items():
        lead = f"{folder}/" if folder else ""
        chosen = last_names if is_one else matching_names(patterns, folder, last_names, stop)
        base = start.path.parent if is_one else start.path
        if chosen and (context.has_read_rules or perhaps_secret(f"{base}/{folder}", chosen)):
            shows = {name: context.may_read(f"{base}/{lead}{name}") for name in chosen}
            hidden += sum(each == "nothing" for each in shows.values())
            secrets += sum(each == "name" for each in shows.values())
            chosen = [name for name in chosen if shows[name] == "all"]
        names += [lead + name for name in chosen]
    is_complete = listed is None or listed.complete
    return _Files(start, names, is_one=is_one, hidden=hidden, secrets=secrets, is_complete=is_complete)


def _matches(  # noqa: PLR0913 - what a search is made of
    pattern: regex.Pattern[str],
    files: _Files,
    names: Sequence[str],
    stop: threading.Event,
    *,
    context: int,
    most: int,
    unread: list[str],
    deadline: SearchDeadline,
) -> tuple[int, list[str], int]:
    """Return the number of matches (not exact above `most`), the first of them as text, and how many were not read."""
    found = 0
    shown: list[str] = []
    for at, name in enumerate(names):
        if found > most or stop.is_set():
            break
        if deadline.is_set():
            return found, shown, len(names) - at
        try:
            each = search_file(pattern, files.place(name), context=context, most=most - found, stop=stop)
        except TimeoutError as error:
            msg = (
                f"Pattern {pattern.pattern!r} takes too long on a line of {files.place(name).name!r} because it "
                "backtracks. Write it without nested repetition and call it again."
            )
            raise ToolFailed(msg) from error
        except (OSError, ToolFailed):
            unread.append(files.place(name).name)
            continue
        found += each.count
        shown += each.shown
    return found, shown, 0
