"""What a word begun in the composer may become: a command after `/`, a file after `@`."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from holdfast.text import literal
from holdfast.tools.paths import Place
from holdfast.tools.thread import in_daemon
from holdfast.tools.walk import walk
from holdfast.ui.tui.commands import matching

MOST_FILES = 20_000
MOST_SECONDS = 1.0
"""Of one look through the folder; a larger project is completed as far as that went."""

FRESH = 5.0
"""Seconds for which a look is good."""

SHOWN = 8

_FILE = re.compile(r"(?:^|(?<=\s))@([^\s@]*)$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One way to go on: what is shown with a dim `detail`, and the text that replaces the last `length` characters."""

    shown: str
    detail: str
    text: str
    length: int


def commands(before: str) -> tuple[Suggestion, ...]:
    """Return the commands that the text before the cursor may become."""
    return tuple(
        Suggestion(f"/{command.name} {command.takes}".strip(), command.does, f"/{command.name} ", len(before))
        for command in matching(before)
    )


def file_begun(before: str) -> str | None:
    """Return what is written behind the `@` that the text before the cursor ends with, None if there is none."""
    found = _FILE.search(before)
    return found[1] if found else None


def files(begun: str, names: Iterable[str]) -> tuple[Suggestion, ...]:
    """Return the files, best first, that hold the letters of `begun` in order."""
    ranked = sorted((rank, name) for name in names if (rank := _rank(begun.casefold(), name)) is not None)
    return tuple(Suggestion(name, "", f"@{name} ", len(begun) + 1) for _, name in ranked[:SHOWN])


def _rank(begun: str, name: str) -> tuple[int, int] | None:
    """Return how well `name` fits, lower is better, None if it does not."""
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


class Listing:
    """The names of a folder's files, read anew when they are no longer fresh, and never on the event loop."""

    def __init__(self) -> None:
        self._root: Path | None = None
        self._names: tuple[str, ...] = ()
        self._at = 0.0

    async def names(self, root: Path) -> tuple[str, ...]:
        """Return the names beneath `root`, folders with a slash at their ends."""
        if root != self._root or time.monotonic() - self._at > FRESH:
            self._names = await in_daemon(lambda: _names(root))
            self._root, self._at = root, time.monotonic()
        return self._names


def _names(root: Path) -> tuple[str, ...]:
    until = time.monotonic() + MOST_SECONDS
    names: list[str] = []
    try:
        for entry in walk(
            root, Place(anchor=root, parts=(), name=".", outside=None), stop=threading.Event(), unread=[]
        ):
            names.append(entry.name + "/" * (entry.kind == "folder"))
            if len(names) >= MOST_FILES or time.monotonic() > until:
                break
    except OSError:
        return ()  # a folder that cannot be read has no names to offer; the agent says why when it is asked
    return tuple(names)


class Completions(OptionList, can_focus=False):
    """The suggestions, above the composer, while there are any."""

    def __init__(self, root: Path) -> None:
        """Offer the commands, and the files beneath `root`."""
        super().__init__(id="completions")
        self._suggestions: Sequence[Suggestion] = ()
        self._listing = Listing()
        self._looking: asyncio.Task[None] | None = None
        self._before = ""
        self.root = root

    @property
    def chosen(self) -> Suggestion | None:
        """Return the highlighted suggestion, None if there are none."""
        if not self.display or self.highlighted is None:
            return None
        return self._suggestions[self.highlighted]

    def look(self, before: str) -> None:
        """Show what the text before the cursor may become; files are looked for meanwhile."""
        if before == self._before:
            return
        self._before = before
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        begun = file_begun(before)
        if begun is None:
            self.offer(commands(before))
        else:
            self._looking = asyncio.create_task(self._look(begun))

    async def catch_up(self, before: str) -> None:
        """Show what that text may become, and return when that is known: typed fast is as good as typed slowly."""
        self.look(before)
        if self._looking is not None:
            await asyncio.wait({self._looking})

    async def _look(self, begun: str) -> None:
        self.offer(files(begun, await self._listing.names(self.root)))

    def offer(self, suggestions: Sequence[Suggestion]) -> None:
        """Show these; none hides the list."""
        self._suggestions = suggestions
        self.clear_options()
        for suggestion in suggestions:
            shown = Text(literal(suggestion.shown), no_wrap=True, overflow="ellipsis")
            shown.append(f"  {suggestion.detail}", "dim")
            self.add_option(Option(shown))
        self.display = bool(suggestions)
        if suggestions:
            self.highlighted = 0

    def move(self, by: int) -> None:
        """Move the highlight."""
        if by < 0:
            self.action_cursor_up()
        else:
            self.action_cursor_down()
