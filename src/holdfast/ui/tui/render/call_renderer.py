"""Renders a call as fragments: a line with its state, then its changes, output or result."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import assert_never

import msgspec
from rich.cells import cell_len
from rich.style import Style

from holdfast.text import literal
from holdfast.tool_calls import Outcome
from holdfast.typed_data import decode_json
from holdfast.ui.tui.render.diff import Change, changes, draw_changes, language_of, with_hidden
from holdfast.ui.tui.render.lines import DrawnLine, Fragment, StyledRun, clean, crop, fold_runs, make_line
from holdfast.ui.tui.render.plain_text import (
    OPENED,
    PIECE,
    OutputColours,
    Text,
    Tone,
    duration_text,
    missing_lines_note,
    opened_text,
    output_colours,
    running_time,
    short_text,
    split_lines,
    tone_style,
)
from holdfast.ui.tui.render.styles import Styles
from holdfast.ui.view.blocks import CallBlock, CallState, TodoLine
from holdfast.ui.view.sentences import MARKS

RUNNING = 8
"""Number of last lines to show of a running call's output."""

FIRST = 5
"""Number of first lines to show of a result, and of last lines for a failed call."""

_DIFF = 14
"""Lines to show of an edit."""

_FETCHED = re.compile(r"\[\S+: ([^\n]+)\]\n")
_DRAWN = re.compile("[\b\r\x1b]")
_SENTENCES = 1_000  # characters; a result that is not longer is not cut


class Head(msgspec.Struct, frozen=True):
    """The first line of a call: its state, its title, and status texts."""

    state: CallState
    name: str
    title: str
    statuses: tuple[tuple[str, Tone], ...]

    def guess(self, width: int) -> int:
        """Return 1: it is always one line."""
        del width
        return 1

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its line; if it is too long, the title is cut, never the status texts."""
        mark, style = _mark(self.state, styles)
        status_runs: list[StyledRun] = [(f"  {text}", tone_style(tone, styles)) for text, tone in self.statuses]
        room = max(12, width - sum(cell_len(text) for text, _ in status_runs))
        title: list[StyledRun] = [(self.name, styles.name), (f" {self.title}" if self.title else "", styles.text)]
        return [make_line(crop([*crop(title, room), *status_runs], width))._replace(mark=(mark, style))]


CHANGED = frozenset("+-")
"""The signs of changed lines."""


class Diff(msgspec.Struct, frozen=True):
    """The lines of an edit; `digits` is the width of their numbers, 0 for as wide as needed."""

    lines: tuple[Change, ...]
    wrap: bool
    digits: int = 0
    language: str = ""

    def guess(self, width: int) -> int:
        """Return the approximate number of lines."""
        del width
        return len(self.lines)

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its lines."""
        digits = self.digits or max(
            (len(str(change.number)) for change in self.lines if change.number is not None), default=0
        )
        return list(draw_changes(self.lines, styles, width, digits=digits, wrap=self.wrap, language=self.language))


class DiffFold(msgspec.Struct, frozen=True):
    """The line that replaces the hidden lines of `change`; if it is open, they are shown below it."""

    change: Change
    digits: int
    language: str
    is_open: bool = False

    def guess(self, width: int) -> int:
        """Return 1: it is always one line."""
        del width
        return 1

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its line: how many lines there are, and the key that shows or hides them."""
        shown = msgspec.structs.replace(self.change, text=f"{self.change.text} shown") if self.is_open else self.change
        return list(draw_changes((shown,), styles, width, digits=self.digits, wrap=True))

    def opened(self) -> list[Fragment]:
        """Return the open fold, with the lines that it hides."""
        return [
            msgspec.structs.replace(self, is_open=True),
            *_diff_fragments(self.change.hidden, self.digits, self.language),
        ]


def diff_fragments(lines: Sequence[Change], language: str) -> list[Fragment]:
    """Return the fragments of a file's lines; all have room for its largest number, folded lines too."""
    digits = max((_digits_of(line) for line in lines), default=0)
    found: list[Fragment] = []
    begin = 0
    for at, line in enumerate(lines):
        if line.hidden:
            found += (*_diff_fragments(lines[begin:at], digits, language), DiffFold(line, digits, language))
            begin = at + 1
    return [*found, *_diff_fragments(lines[begin:], digits, language)]


def _diff_fragments(lines: Sequence[Change], digits: int, language: str) -> list[Fragment]:
    return [
        Diff(tuple(lines[at : at + PIECE]), wrap=True, digits=digits, language=language)
        for at in range(0, len(lines), PIECE)
    ]


def _digits_of(line: Change) -> int:
    numbers = [each.number for each in (line, *line.hidden[-1:]) if each.number is not None]
    return max((len(str(number)) for number in numbers), default=0)


class Checklist(msgspec.Struct, frozen=True):
    """A to-do list with the state of each item."""

    items: tuple[TodoLine, ...]

    def guess(self, width: int) -> int:
        """Return the approximate number of lines."""
        del width
        return len(self.items)

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its lines."""
        marks: dict[str, tuple[StyledRun, Style]] = {
            "done": (("✓ ", styles.ok), styles.faint),
            "doing": (("▸ ", styles.running), styles.name),
            "open": (("○ ", styles.faint), styles.text),
        }
        drawn: list[DrawnLine] = []
        for item in self.items:
            mark, style = marks[item.state]
            drawn += fold_runs([(_one_line(item.text), style)], width, first=[mark], rest=[("  ", style)])
        return drawn


def call_fragments(block: CallBlock, *, opened: bool, now: float) -> list[Fragment]:
    """Return the fragments of a call; with `opened`, everything."""
    name, _, title = _one_line(block.title).partition(" ")
    head = Head(block.state, name, title, tuple(_statuses(block, now)))
    if block.todo and block.state not in ("failed", "denied"):
        shown = block.todo if opened else block.todo[:_DIFF]
        return [head, Checklist(shown), *missing_lines_note(len(block.todo) - len(shown))]
    if opened:
        return [head, *_arguments(block), *_edit(block, opened=True), *_result(block, opened=True)]
    return [head, *_edit(block, opened=False), *_result(block, opened=False)]


def _statuses(block: CallBlock, now: float) -> list[tuple[str, Tone]]:
    """Return the status texts after the title."""
    confined: list[tuple[str, Tone]] = [(f"confined: {block.confined}", "faint")] if block.confined else []
    match block.state:
        case "writing":
            return [(f"writing, {block.written:,} characters", "faint")]
        case "waiting":
            from holdfast.tools.arguments.tolerant_tool import canonical_name

            answer = canonical_name(block.name) == "ask_user"
            return [("waiting for your answer" if answer else "waiting for approval", "warning")]
        case "running":
            return [*([(running_time(now - block.since), "faint")] if block.since is not None else []), *confined]
        case "ready":
            return []
        case "lost":
            return [("outcome unknown", "warning")]
        case "ok" | "failed" | "denied" | "not_started" | "interrupted":
            return [*_outcome(block, block.state), *confined]
        case _:
            assert_never(block.state)


def _outcome(block: CallBlock, outcome: Outcome) -> list[tuple[str, Tone]]:
    statuses: list[tuple[str, Tone]] = []
    if outcome != "ok":
        statuses.append((outcome.replace("_", " "), "failed" if outcome == "failed" else "warning"))
    elif block.edits:
        shown = [change for edit in block.edits for change in changes(edit)]
        added, removed = (sum(change.sign == sign for change in shown) for sign in "+-")
        statuses.append((f"+{added}" + (f" -{removed}" if removed else ""), "faint"))
    elif block.todo:
        done = sum(item.state == "done" for item in block.todo)
        statuses.append((f"{done} of {len(block.todo)} done", "faint"))
    elif block.name == "fetch":
        if found := _FETCHED.match(block.result):
            statuses.append((_one_line(found[1]), "faint"))
    elif block.effect == "read":
        count = block.result.rstrip("\n").count("\n") + 1
        statuses.append((f"{count:,} lines" if count != 1 else "1 line", "faint"))
    if block.seconds is not None and block.seconds >= 1:
        statuses.append((duration_text(block.seconds), "faint"))
    if block.shared:
        statuses.append(("shared with the model", "faint"))
    return statuses


def _arguments(block: CallBlock) -> list[Fragment]:
    """Return the arguments in full, literally, unless the first line or the diff shows them."""
    if block.edits or (block.name == "!" and "\n" not in block.arguments):
        return []
    return opened_text(literal(_argument_lines(block.arguments)), "text")


def _argument_lines(arguments: str) -> str:
    """Return arguments one per line, a command unchanged; return anything but a JSON object as it is."""
    try:
        values = decode_json(arguments, dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments
    return "\n".join(str(value) if name == "command" else f"{name}: {value}" for name, value in values.items())


def _edit(block: CallBlock, *, opened: bool) -> list[Fragment]:
    if not block.edits or (block.state in ("waiting", "failed", "denied", "not_started") and not opened):
        return []  # while it waits for approval, the question shows the change
    left = OPENED if opened else _DIFF
    fragments: list[Fragment] = []
    hidden = 0
    for edit in block.edits:
        shown = with_hidden(changes(edit)) if opened else changes(edit)
        headed = len(block.edits) > 1 or bool(edit.how)
        some = shown[: max(0, left - headed)]
        hidden += len(shown) - len(some)
        if headed and left:
            fragments.append(Text((_one_line(f"{edit.path} {edit.how}".rstrip()),), "dim"))
        elif headed:
            hidden += 1
        left = max(0, left - headed - len(some))
        language = language_of(edit.path)
        fragments += [
            Diff(tuple(some[at : at + PIECE]), wrap=opened, language=language) for at in range(0, len(some), PIECE)
        ]
    return [*fragments, *missing_lines_note(hidden)]


def _result(block: CallBlock, *, opened: bool) -> list[Fragment]:
    colours = output_colours(block.output or block.printed)
    if opened:
        text = _last_frames(block.output) if block.state == "running" else block.result
        return opened_text(text, "dim", above=True, colours=colours)
    match block.state:
        case "running":
            lines = split_lines(_last_frames(block.output))
            return [*missing_lines_note(len(lines) - RUNNING, "above"), *short_text(lines[-RUNNING:], colours)]
        case "ok":
            return _success(block, colours)
        case "failed" | "denied" | "interrupted" | "not_started":
            return _failure(block, colours)
        case "writing" | "ready" | "waiting" | "lost":
            return []
        case _:
            assert_never(block.state)


def _success(block: CallBlock, colours: OutputColours) -> list[Fragment]:
    """Return the fragments of a successful result: the first lines of the output, or of a page."""
    if block.edits or (block.effect == "read" and block.name != "fetch"):
        return []
    if block.name == "fetch" and not _FETCHED.match(block.result):
        return opened_text(block.result, "dim")  # it is shown elsewhere
    lines = split_lines(_FETCHED.sub("", _without_exit_line(block.result)))
    return [*short_text(lines[:FIRST], colours), *missing_lines_note(len(lines) - FIRST)]


def _failure(block: CallBlock, colours: OutputColours) -> list[Fragment]:
    """Return the fragments of an unsuccessful result: its last lines, which say what is known of its effect."""
    lines = split_lines(block.result)
    if len(lines) <= FIRST + 1 and len(block.result) <= _SENTENCES:
        return opened_text(block.result, "dim", colours=colours)
    first = lines[:1] if block.state == "interrupted" else ()
    last = lines[len(first) :][-FIRST - 1 :]
    above = len(lines) - len(first) - len(last)
    return [*opened_text("".join(first), "dim"), *missing_lines_note(above, "above"), *short_text(last, colours)]


def _last_frames(output: str) -> str:
    """Return an output as a terminal would have it now: of a progress bar its last state."""
    if not _DRAWN.search(output):
        return output
    from holdfast.tools.printed_text import printed_text

    return printed_text(output)


def _without_exit_line(result: str) -> str:
    """Return a result without the line that ends every successful command."""
    text, _, facts = result.rpartition("\n")
    succeeded = facts.startswith("(exit code 0, ") and facts.endswith(" s)") and ";" not in facts
    return "" if succeeded and text == "(no output)" else text if succeeded else result


def _one_line(text: str) -> str:
    return clean(literal(" ".join(text.split())))


def _mark(state: CallState, styles: Styles) -> tuple[str, Style]:
    match state:
        case "ok" | "failed" | "denied" | "not_started" | "interrupted":
            return MARKS[state], {"ok": styles.ok, "failed": styles.failed}.get(state, styles.warning)
        case "writing" | "ready":
            return "·", styles.dim
        case "waiting" | "lost":
            return {"waiting": "?", "lost": "◌"}[state], styles.warning
        case "running":
            return "●", styles.running
        case _:
            assert_never(state)
