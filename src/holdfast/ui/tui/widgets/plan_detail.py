"""Renders a planned call as fragments: a command as code, a change as a diff with line numbers, a plan as text.

Nothing is left out or hidden, because the user approves what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from holdfast.text import literal
from holdfast.tools.tool import Plan
from holdfast.ui.tui.render.call_renderer import diff_fragments
from holdfast.ui.tui.render.diff import Change, fold_unchanged, folded_lines, language_of, mark_changed_words
from holdfast.ui.tui.render.lines import Fragment, clean
from holdfast.ui.tui.render.markdown import Code, Markdown
from holdfast.ui.tui.render.plain_text import PIECE, Text

_HUNK = re.compile(r"@@ -(?P<before>\d+)(?:,(?P<old>\d+))? \+(?P<after>\d+)(?:,(?P<new>\d+))? @@")

_COMPARED = 400  # lines whose words are compared

UNCHANGED_AROUND = 3  # unchanged lines that a tool's diff has around changes

_LARGEST_ORIGINAL = 1_000_000
"""Bytes of a file whose unchanged lines are shown on request; of a larger one, the folds do not open."""


def plan_fragments(plan: Plan, *, around: int = UNCHANGED_AROUND) -> list[Fragment]:
    """Return the fragments of a planned call, none if the question contains everything.

    Of the unchanged lines of a diff, `around` stand beside each change, and the others are folded.
    """
    if not plan.detail.strip():
        return []
    if plan.is_for_the_user:
        return Markdown().fragments(literal(plan.detail))
    lines = tuple(clean(literal(plan.detail)).rstrip("\n").split("\n"))
    if len(plan.changes) == 1 and lines[0].startswith("---"):
        return _diff(lines[2:], plan.changes[0].path, _original(plan, 0), around)
    if plan.changes:
        return [fragment for each in files_of(lines) for fragment in _file(each, plan, around)]
    if plan.effect == "execute":
        return [Code(lines[at : at + PIECE], "bash", above=False) for at in range(0, len(lines), PIECE)]
    return _plain(lines)


class FileLines(msgspec.Struct, frozen=True):
    """The lines of one file in the diff of several: those of its hunks, or a sentence instead."""

    name: str
    lines: tuple[str, ...]


def files_of(lines: tuple[str, ...]) -> Iterator[FileLines]:
    """Yield the files of a diff. A hunk's first line has its length, so no line in it is taken for a file name."""
    at, name, body = 0, "", list[str]()
    while at < len(lines):
        line = lines[at]
        if found := _HUNK.match(line):
            end = _hunk_end(lines, at + 1, *(int(found[each] or 1) for each in ("old", "new")))
            body += lines[at:end]
            at = end
            continue
        if line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ "):
            if name or body:
                yield FileLines(name, tuple(body))
            name, body = lines[at + 1].removeprefix("+++ "), []
            at += 2
            continue
        if body and name:  # a sentence about a file without a diff
            yield FileLines(name, tuple(body))
            name, body = "", []
        body.append(line)
        at += 1
    if name or body:
        yield FileLines(name, tuple(body))


def _hunk_end(lines: tuple[str, ...], at: int, old: int, new: int) -> int:
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith("\\")):
        sign = lines[at][:1]
        old -= sign in ("-", " ", "")
        new -= sign in ("+", " ", "")
        at += 1
    return at


def _file(file: FileLines, plan: Plan, around: int) -> list[Fragment]:
    """Return a file's name, whether it is created or deleted, and its changes."""
    place = next((at for at, each in enumerate(plan.changes) if clean(literal(each.path)) == file.name), None)
    how = ""
    if place is not None:
        change = plan.changes[place]
        how = " (created)" if change.before is None else " (deleted)" if change.after is None else ""
    head = [Text((f"{file.name}{how}",), "dim")] if file.name else []
    if not (file.lines[:1] and _HUNK.match(file.lines[0])):
        return [*head, *_plain(file.lines)]
    return [*head, *_diff(file.lines, file.name, () if place is None else _original(plan, place), around)]


def _original(plan: Plan, place: int) -> tuple[str, ...]:
    """Return the lines of a file before its change, none if they are not known, or too many."""
    content = plan.originals[place] if place < len(plan.originals) else b""
    if not content or len(content) > _LARGEST_ORIGINAL:
        return ()
    text = content.decode("utf-8", "replace").removesuffix("\n")
    return tuple(clean(literal(line)).replace("\n", " ") for line in text.split("\n"))


def _plain(lines: tuple[str, ...]) -> list[Fragment]:
    return [Text(lines[at : at + PIECE], "text") for at in range(0, len(lines), PIECE)]


def _diff(lines: tuple[str, ...], path: str, original: Sequence[str], around: int) -> list[Fragment]:
    return diff_fragments(fold_unchanged(tuple(changes_of(lines, original)), around), language_of(path))


def changes_of(lines: tuple[str, ...], original: Sequence[str] = ()) -> Iterator[Change]:
    """Yield the lines of a unified diff, without its file names; removed lines have their old number.

    With the `original` lines of the file, the unchanged lines between the hunks are included.
    """
    old = new = 0  # 0: unknown, because lines were left out
    read = 0  # lines of the original that were yielded
    removed: list[Change] = []
    added: list[Change] = []

    def block() -> Iterator[Change]:
        alike = len(removed) == len(added) <= _COMPARED
        yield from mark_changed_words(removed, added) if alike else (*removed, *added)
        removed.clear()
        added.clear()

    for at, line in enumerate(lines):
        sign, text = line[:1], line[1:]
        if sign == "-":
            if added:
                yield from block()
            removed.append(Change("-", text, old or None))
            old += bool(old)
            continue
        if sign == "+":
            added.append(Change("+", text, new or None))
            new += bool(new)
            continue
        yield from block()
        if found := _HUNK.match(line):
            skipped = int(found["after"]) - new if new else 0
            old, new = int(found["before"]), int(found["after"])
            yield from _unchanged(original[read : old - 1], new - max(0, old - 1 - read))
            if at and not original:
                yield folded_lines(skipped)
            read = old - 1 + int(found["old"] or 1)
        elif sign in (" ", ""):
            yield Change(" ", text, new or None)
            old += bool(old)
            new += bool(new)
        else:
            if sign != "\\":
                old = new = 0
            yield Change(" ", line)
    yield from block()
    yield from _unchanged(original[read:], new)


def _unchanged(lines: Sequence[str], number: int) -> Iterator[Change]:
    return (Change(" ", line, at) for at, line in enumerate(lines, number))
