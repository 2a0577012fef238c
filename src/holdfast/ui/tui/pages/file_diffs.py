"""What `/diff` shows: the changes of each file, from the edits of a turn or a session, or from git. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from holdfast.text import literal
from holdfast.ui.tui.render.call_renderer import diff_fragments
from holdfast.ui.tui.render.diff import Change, changes, fold_unchanged, language_of
from holdfast.ui.tui.render.lines import Fragment, clean
from holdfast.ui.tui.render.plain_text import Text
from holdfast.ui.tui.widgets.plan_detail import changes_of
from holdfast.ui.view.blocks import Block, CallBlock, UserBlock

MOST_LINES = 5_000
"""Lines of one file that are shown."""

CONTEXT_LINES = 3
"""Unchanged lines of git's diff that are shown around a change; the others are folded."""

_FILE = re.compile(r"^diff --git ", re.MULTILINE)


class ShownDiff(msgspec.Struct, frozen=True):
    """The changed lines of one file, in order; `note` is a further remark, "" for none."""

    path: str
    lines: tuple[Change, ...]
    note: str = ""

    @property
    def added(self) -> int:
        return sum(line.sign == "+" for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.sign == "-" for line in self.lines)

    def fragments(self) -> list[Fragment]:
        """Return its fragments; a long diff is cut, with a note that says so."""
        shown = self.lines[:MOST_LINES]
        found = diff_fragments(shown, language_of(self.path))
        if self.note:
            found.append(Text((self.note,), "dim"))
        if left := len(self.lines) - len(shown):
            found.append(Text((f"… {left:,} more lines",), "dim"))
        return found


def edit_diffs(blocks: Iterable[Block], *, turn: bool) -> tuple[ShownDiff, ...]:
    """Return the files that successful edits changed, each with its edits in order; with `turn`, of the last turn."""
    found: dict[str, list[Change]] = {}
    for block in blocks:
        if turn and isinstance(block, UserBlock) and block.turn:
            found.clear()
        if isinstance(block, CallBlock) and block.state == "ok":
            for edit in block.edits:
                lines = list(changes(edit))
                before = found.setdefault(edit.path, [])
                before += [Change("…", ""), *lines] if before else lines
    return tuple(ShownDiff(path, tuple(lines)) for path, lines in found.items())


def git_diffs(diff: str) -> tuple[ShownDiff, ...]:
    """Return the files of the output of `git diff`."""
    return tuple(_git_file(part) for part in _FILE.split(diff)[1:])


def _git_file(part: str) -> ShownDiff:
    lines = clean(literal(part)).rstrip("\n").split("\n")
    begins = next((at for at, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    head = lines[:begins]
    named = {line[:4]: _path(line[4:]) for line in head if line.startswith(("+++ ", "--- "))}
    path = next((named[sign] for sign in ("+++ ", "--- ") if named.get(sign, "/dev/null") != "/dev/null"), "")
    if not path:  # no text changed: the file was renamed, is binary, or has another mode
        path = next((line.partition(" to ")[2] for line in head if line.startswith(("rename to", "copy to"))), "")
        path = path or _path(head[0].rpartition(" ")[2])
    notes = [line for line in head[1:] if not line.startswith(("index ", "--- ", "+++ "))]
    return ShownDiff(path, fold_unchanged(tuple(changes_of(tuple(lines[begins:]))), CONTEXT_LINES), " · ".join(notes))


def _path(name: str) -> str:
    name = name.strip('"').rstrip("\t")
    return name[2:] if name.startswith(("a/", "b/")) else name


def new_file(path: str, content: str) -> ShownDiff:
    """Return an untracked file; every line of it is new."""
    lines = clean(literal(content)).removesuffix("\n").split("\n") if content else []
    return ShownDiff(
        path, tuple(Change("+", text, number) for number, text in enumerate(lines, 1)), "not tracked by git"
    )
