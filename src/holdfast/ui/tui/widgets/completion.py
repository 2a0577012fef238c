"""Completions in the composer: a command after `/`, a file after `@`."""

from __future__ import annotations

import asyncio
import heapq
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.cells import cell_len
from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from holdfast.system.safe_paths import SafePath
from holdfast.system.threads import in_daemon
from holdfast.text import literal
from holdfast.tools.workspace.file_walk import walk
from holdfast.ui.tui.command_parser import match_slash_commands
from holdfast.ui.tui.prompt.dropped_paths import mention

if TYPE_CHECKING:
    from holdfast.host.offered_commands import OfferedCommand

MOST_FILES = 20_000
MOST_SECONDS = 1.0
"""Limits of a walk through a folder that git does not list; of a larger one only a part is completed."""

MOST_LISTED = 200_000
MOST_NESTED = 20
GIT_SECONDS = 5.0
"""Limits of what git lists, and of the other repositories in it that are walked."""

FRESH = 5.0
"""Seconds for which a scan is reused."""

SHOWN = 8
"""Rows of the list, as in `app.tcss`."""

INCOMPLETE = "not all files are listed: type a path"
"""Shown below the completions of a folder of which only a part is known."""

_LOOKED_AT = 5 * SHOWN
_AT_ONCE = 2_000  # names that are ranked without a thread

_FILE = re.compile(r"(?:^|(?<=\s))@([^\s@]*)$")


class Suggestion(msgspec.Struct, frozen=True):
    """One completion: `text` replaces the last `length` characters; `detail` is shown dimmed."""

    shown: str
    detail: str
    text: str
    length: int


def matching_commands(before: str, added: Callable[[], Iterable[OfferedCommand]]) -> tuple[Suggestion, ...]:
    """Return the commands that complete the text before the cursor, then those that plug-ins and servers `added`."""
    commands = (
        Suggestion(match.names, match.command.description, f"/{match.name} ", len(before))
        for match in match_slash_commands(before)
    )
    if not before.startswith("/") or any(sign.isspace() for sign in before):
        return tuple(commands)
    begun = before[1:]
    offered = (
        Suggestion(each.usage, each.summary, f"/{each.name} ", len(before)) for each in added() if begun in each.name
    )
    return (*commands, *offered)


def file_begun(before: str) -> str | None:
    """Return the text after the last `@` before the cursor, None if there is none."""
    found = _FILE.search(before)
    return found[1] if found else None


def files(begun: str, names: Iterable[str], root: Path | None = None) -> tuple[Suggestion, ...]:
    """Return the files whose names contain the letters of `begun` in order, best first.

    With `root`, those that are not there (git lists deleted ones too) are left out.
    """
    folded = begun.casefold()
    ranked = ((rank, name) for name in names if (rank := _rank(folded, name)) is not None)
    best = (name for _, name in heapq.nsmallest(_LOOKED_AT, ranked))
    there = (name for name in best if root is None or os.path.lexists(root / name))
    return tuple(Suggestion(name, "", f"{mention(name)} ", len(begun) + 1) for name in islice(there, SHOWN))


def _rank(begun: str, name: str) -> tuple[int, int] | None:
    """Return how well `name` matches (lower is better), None if it does not."""
    lower = name.casefold()
    base = lower.rstrip("/").rpartition("/")[2]
    if base.startswith(begun):
        return 0, len(name)
    if lower.startswith(begun):
        return 1, len(name)
    if begun in lower:
        return 2, len(name)
    letters = iter(lower)
    return (3, len(name)) if all(letter in letters for letter in begun) else None


class ListedNames(msgspec.Struct, frozen=True):
    """Names beneath a folder, folders with a slash at their end; `complete` is whether that is all of them."""

    names: tuple[str, ...]
    complete: bool = True


class Listing:
    """The file names of a folder, listed again when outdated, never on the event loop."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._listed = ListedNames(())
        self._at = 0.0

    async def listed(self, root: Path) -> ListedNames:
        """Return the names beneath `root`."""
        if root != self._root or time.monotonic() - self._at > FRESH:
            self._listed = await in_daemon(lambda: listed_names(root, _environment()))
            self._root, self._at = root, time.monotonic()
        return self._listed


def _environment() -> dict[str, str]:
    from holdfast.tools.process.environment import child_environment

    return child_environment(os.environ)


def listed_names(root: Path, environ: Mapping[str, str]) -> ListedNames:
    """Return the names that git lists beneath `root`, else those that a walk finds. It blocks."""
    from holdfast.tools.workspace.file_list import folders_of, git_names_within

    found = git_names_within(GIT_SECONDS, root, environ)
    if found is None:
        return _walked(root)
    below = [_walked(root, folder) for folder in found.nested[:MOST_NESTED]]  # other repositories
    files = (f"{folder}/{name}" if folder else name for folder, names in found.groups.items() for name in names)
    every = chain(files, (f"{folder}/" for folder in folders_of(found)), *(each.names for each in below))
    names = tuple(islice(every, MOST_LISTED + 1))
    is_whole = len(names) <= MOST_LISTED and len(below) == len(found.nested) and not found.has_modules
    return ListedNames(names[:MOST_LISTED], found.complete and is_whole and all(each.complete for each in below))


def _walked(root: Path, folder: str = "") -> ListedNames:
    until = time.monotonic() + MOST_SECONDS
    names: list[str] = []
    start = SafePath(anchor=root, parts=(), name=".", outside=None).below(folder)
    lead = f"{folder}/" if folder else ""
    try:
        for entry in walk(root, start, stop=threading.Event(), unread=[]):
            if len(names) >= MOST_FILES or time.monotonic() > until:
                return ListedNames(tuple(names), complete=False)
            names.append(lead + entry.name + "/" * (entry.kind == "folder"))
    except OSError:
        return ListedNames(())  # no completions for an unreadable folder; the tools report the error
    return ListedNames(tuple(names))


def suggestion_rows(suggestions: Sequence[Suggestion]) -> list[Text]:
    """Return the rows of a list, with the details in a column."""
    wide = max((cell_len(each.shown) for each in suggestions if each.detail), default=0)
    rows: list[Text] = []
    for each in suggestions:
        row = Text(literal(each.shown), no_wrap=True, overflow="ellipsis")
        if each.detail:
            row.append(" " * (wide - cell_len(each.shown) + 2)).append(each.detail, "dim")
        rows.append(row)
    return rows


class Completions(OptionList, can_focus=False):
    """The completions above the composer, if there are any."""

    def __init__(self, root: Path, *, added: Callable[[], Iterable[OfferedCommand]]) -> None:
        """Complete commands, those that plug-ins and servers `added`, and files beneath `root`."""
        super().__init__(id="completions")
        self._added = added
        self._suggestions: Sequence[Suggestion] = ()
        self._listing = Listing()
        self._scan: asyncio.Task[None] | None = None
        self._before = ""
        self._complete = True
        self.root = root

    @property
    def chosen(self) -> Suggestion | None:
        """Return the highlighted completion, None if there are none."""
        if not self.display or self.highlighted is None:
            return None
        return self._suggestions[self.highlighted]

    def complete(self, before: str) -> None:
        """Show the completions of the text before the cursor; files are scanned in the background."""
        if before == self._before:
            return
        self._before = before
        if self._scan is not None:
            self._scan.cancel()
            self._scan = None
        begun = file_begun(before)
        if begun is None:
            self.offer(matching_commands(before, self._added))
        else:
            self._scan = asyncio.create_task(self._complete_file(begun))

    async def catch_up(self, before: str) -> None:
        """Show the completions of the text, and wait for the scan, so that they are there after fast typing too."""
        self.complete(before)
        if self._scan is not None:
            await asyncio.wait({self._scan})

    async def _complete_file(self, begun: str) -> None:
        root = self.root
        listed = await self._listing.listed(root)
        if len(listed.names) > _AT_ONCE:
            found = await in_daemon(lambda: files(begun, listed.names, root))
        else:
            found = files(begun, listed.names, root)
        self.offer(found, complete=listed.complete)

    def offer(self, suggestions: Sequence[Suggestion], *, complete: bool = True) -> None:
        """Show these completions, and whether there may be more; hide the list if there are none."""
        self._suggestions = suggestions
        self._complete = complete
        self.clear_options()
        self.add_options(Option(row) for row in suggestion_rows(suggestions))
        self.display = bool(suggestions)
        self.set_class(len(suggestions) > SHOWN or not complete, "-more")
        if suggestions:
            self.highlighted = 0

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Show which one is highlighted, and that there are more."""
        super().watch_highlighted(highlighted)
        at = 0 if highlighted is None else highlighted + 1
        more = "↑ ↓ for more" if self._complete else INCOMPLETE
        self.border_subtitle = f"{at} of {len(self._suggestions)} · {more}"

    def move(self, by: int) -> None:
        """Move the highlight."""
        if by < 0:
            self.action_cursor_up()
        else:
            self.action_cursor_down()
