"""What a planned call will do, as fragments: a command as code, a change as a diff with line numbers, a plan as text.

One rule: nothing is left out or hidden, because the user approves what is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.text import literal
from holdfast.tools.tool import Plan
from holdfast.ui.tui.render.call_renderer import Diff
from holdfast.ui.tui.render.diff import Change, folded_lines, language_of, paired
from holdfast.ui.tui.render.lines import Fragment, clean
from holdfast.ui.tui.render.markdown import Code, Markdown
from holdfast.ui.tui.render.plain_text import PIECE, Text

_HUNK = re.compile(r"@@ -(?P<before>\d+)(?:,(?P<old>\d+))? \+(?P<after>\d+)(?:,(?P<new>\d+))? @@")

_COMPARED = 400  # lines whose words are compared


def plan_fragments(plan: Plan) -> list[Fragment]:
    """Return the fragments of what a call will do, none if the question says it all."""
    if not plan.detail.strip():
        return []
    if plan.is_for_the_user:
        return Markdown().pieces(literal(plan.detail))
    lines = tuple(clean(literal(plan.detail)).rstrip("\n").split("\n"))
    if plan.change is not None and lines[0].startswith("---"):
        return _diff(lines[2:], plan.change.path)
    if plan.changes:
        return [fragment for each in files_of(lines) for fragment in _file(each, plan)]
    if plan.effect == "execute":
        return [Code(lines[at : at + PIECE], "bash", above=False) for at in range(0, len(lines), PIECE)]
    return _plain(lines)


class FileLines(msgspec.Struct, frozen=True):
    """The lines of one file in the diff of several: those of its hunks, or a sentence in place of them."""

    name: str
    lines: tuple[str, ...]


def files_of(lines: tuple[str, ...]) -> Iterator[FileLines]:
    """Yield the files of a diff. A hunk is as long as its first line says: what it contains is never a file name."""
    at, name, own = 0, "", list[str]()
    while at < len(lines):
        line = lines[at]
        if found := _HUNK.match(line):
            end = _hunk_end(lines, at + 1, *(int(found[each] or 1) for each in ("old", "new")))
            own += lines[at:end]
            at = end
            continue
        if line.startswith("--- ") and lines[at + 1 : at + 2] and lines[at + 1].startswith("+++ "):
            if name or own:
                yield FileLines(name, tuple(own))
            name, own = lines[at + 1].removeprefix("+++ "), []
            at += 2
            continue
        if own and name:  # a sentence about a file without a diff
            yield FileLines(name, tuple(own))
            name, own = "", []
        own.append(line)
        at += 1
    if name or own:
        yield FileLines(name, tuple(own))


def _hunk_end(lines: tuple[str, ...], at: int, old: int, new: int) -> int:
    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith("\\")):
        sign = lines[at][:1]
        old -= sign in ("-", " ", "")
        new -= sign in ("+", " ", "")
        at += 1
    return at


def _file(file: FileLines, plan: Plan) -> list[Fragment]:
    """Return a file's name, what becomes of it, and its changes."""
    change = next((each for each in plan.changes if clean(literal(each.path)) == file.name), None)
    how = ""
    if change is not None:
        how = " (created)" if change.before is None else " (deleted)" if change.after is None else ""
    head = [Text((f"{file.name}{how}",), "dim")] if file.name else []
    return [
        *head,
        *(_diff(file.lines, file.name) if file.lines[:1] and _HUNK.match(file.lines[0]) else _plain(file.lines)),
    ]


def _plain(lines: tuple[str, ...]) -> list[Fragment]:
    return [Text(lines[at : at + PIECE], "text") for at in range(0, len(lines), PIECE)]


def _diff(lines: tuple[str, ...], path: str) -> list[Fragment]:
    shown = tuple(changes_of(lines))
    digits = max((len(str(change.number)) for change in shown if change.number is not None), default=0)
    language = language_of(path)
    return [
        Diff(shown[at : at + PIECE], whole=True, digits=digits, language=language) for at in range(0, len(shown), PIECE)
    ]


def changes_of(lines: tuple[str, ...]) -> Iterator[Change]:
    """Yield the lines of a unified diff, without its file names; removed lines have their old number."""
    old = new = 0  # 0: unknown, because lines were left out
    removed: list[Change] = []
    added: list[Change] = []

    def block() -> Iterator[Change]:
        alike = len(removed) == len(added) <= _COMPARED
        yield from paired(removed, added) if alike else (*removed, *added)
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
            if at:
                yield folded_lines(skipped)
        elif sign in (" ", ""):
            yield Change(" ", text, new or None)
            old += bool(old)
            new += bool(new)
        else:
            if sign != "\\":
                old = new = 0
            yield Change(" ", line)
    yield from block()
