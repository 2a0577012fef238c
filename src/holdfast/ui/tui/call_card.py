"""A call as pieces: one line that says how it stands, and what it changed, printed or gave."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import assert_never

import msgspec
from rich.cells import cell_len
from rich.style import Style

from holdfast.calls import Outcome
from holdfast.text import literal
from holdfast.ui.account import MARKS
from holdfast.ui.blocks import Call, CallState, Item
from holdfast.ui.tui.diff import Change, changes, draw_change
from holdfast.ui.tui.lines import Line, Piece, Run, clean, crop, fold, line
from holdfast.ui.tui.look import Look
from holdfast.ui.tui.texts import (
    OPENED,
    PIECE,
    Tone,
    duration,
    opened_text,
    rest,
    short_text,
    split_lines,
    ticking,
    toned,
)

RUNNING = 8
"""The last lines shown of what a running call prints."""

FIRST = 5
"""The first lines shown of what a call gave, the last of one that did not go well."""

DIFF = 14
"""Lines shown of an edit."""

_FETCHED = re.compile(r"\[\S+: ([^\n]+)\]\n")
_SENTENCES = 1_000  # characters of a result up to which none of it is cut


@dataclass(frozen=True, slots=True)
class Head:
    """The one line of a call: how it stands, what it is, and what is to be said of it."""

    state: CallState
    name: str
    title: str
    said: tuple[tuple[str, Tone], ...]

    def guess(self, width: int) -> int:
        """Return that it is one line."""
        del width
        return 1

    def draw(self, look: Look, width: int) -> list[Line]:
        """Return its line; of what is too long the end is left out, never what is to be said."""
        mark, style = _mark(self.state, look)
        said: list[Run] = [(f"  {text}", toned(tone, look)) for text, tone in self.said]
        room = max(12, width - sum(cell_len(text) for text, _ in said))
        title: list[Run] = [(self.name, look.name), (f" {self.title}" if self.title else "", look.text)]
        return [line(crop([*crop(title, room), *said], width))._replace(mark=(mark, style))]


@dataclass(frozen=True, slots=True)
class Diff:
    """Lines of an edit."""

    lines: tuple[Change, ...]
    whole: bool

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        del width
        return len(self.lines)

    def draw(self, look: Look, width: int) -> list[Line]:
        """Return its lines."""
        digits = max((len(str(change.number)) for change in self.lines if change.number is not None), default=0)
        return [
            drawn
            for change in self.lines
            for drawn in draw_change(change, look, width, digits=digits, whole=self.whole)
        ]


@dataclass(frozen=True, slots=True)
class Checklist:
    """What is to be done, what is being done, and what is done."""

    items: tuple[Item, ...]

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        del width
        return len(self.items)

    def draw(self, look: Look, width: int) -> list[Line]:
        """Return its lines."""
        marks: dict[str, tuple[Run, Style]] = {
            "done": (("✓ ", look.ok), look.faint),
            "doing": (("▸ ", look.running), look.name),
            "open": (("○ ", look.faint), look.text),
        }
        drawn: list[Line] = []
        for item in self.items:
            mark, style = marks[item.state]
            drawn += fold([(_one_line(item.text), style)], width, first=[mark], rest=[("  ", style)])
        return drawn


def call_pieces(block: Call, *, opened: bool, now: float) -> list[Piece]:
    """Return what is shown of a call, or with `opened` all there is."""
    name, _, title = _one_line(block.title).partition(" ")
    head = Head(block.state, name, title, tuple(_said(block, now)))
    if block.todo and block.state not in ("failed", "denied"):
        shown = block.todo if opened else block.todo[:DIFF]
        return [head, Checklist(shown), *rest(len(block.todo) - len(shown))]
    if opened:
        return [head, *_arguments(block), *_edit(block, opened=True), *_result(block, opened=True)]
    return [head, *_edit(block, opened=False), *_result(block, opened=False)]


def _said(block: Call, now: float) -> list[tuple[str, Tone]]:
    """Return what the head of a call says after what it is."""
    match block.state:
        case "writing":
            return [(f"writing, {block.written:,} characters", "faint")]
        case "waiting":
            return [("waits for your approval", "warning")]
        case "running":
            return [(ticking(now - block.since), "faint")] if block.since is not None else []
        case "ready":
            return []
        case "lost":
            return [("no outcome in the journal", "warning")]
        case "ok" | "failed" | "denied" | "not_started" | "interrupted":
            return _outcome(block, block.state)
        case _:
            assert_never(block.state)


def _outcome(block: Call, outcome: Outcome) -> list[tuple[str, Tone]]:
    said: list[tuple[str, Tone]] = []
    if outcome != "ok":
        said.append((outcome.replace("_", " "), "failed" if outcome == "failed" else "warning"))
    elif block.edit is not None:
        shown = changes(block.edit)
        come, gone = (sum(change.sign == sign for change in shown) for sign in "+-")
        said.append((f"+{come}" + (f" -{gone}" if gone else ""), "faint"))
    elif block.todo:
        done = sum(item.state == "done" for item in block.todo)
        said.append((f"{done} of {len(block.todo)} done", "faint"))
    elif block.name == "fetch":
        if found := _FETCHED.match(block.result):
            said.append((_one_line(found[1]), "faint"))
    elif block.effect == "read":
        count = block.result.rstrip("\n").count("\n") + 1
        said.append((f"{count:,} lines" if count != 1 else "1 line", "faint"))
    if block.seconds is not None and block.seconds >= 1:
        said.append((duration(block.seconds), "faint"))
    if block.shared:
        said.append(("the model is told", "faint"))
    return said


def _arguments(block: Call) -> list[Piece]:
    """Return the arguments in full, literally, unless the head or the diff shows them."""
    if block.edit is not None or (block.name == "!" and "\n" not in block.arguments):
        return []
    return opened_text(literal(_in_words(block.arguments)), "text")


def _in_words(arguments: str) -> str:
    """Return arguments one under another, a command as it is; what is no JSON object as it was written."""
    try:
        said = msgspec.json.decode(arguments, type=dict[str, object])
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return arguments
    return "\n".join(str(value) if name == "command" else f"{name}: {value}" for name, value in said.items())


def _edit(block: Call, *, opened: bool) -> list[Piece]:
    if block.edit is None or (block.state in ("failed", "denied", "not_started") and not opened):
        return []
    shown = changes(block.edit)
    most = OPENED if opened else DIFF
    some = shown[:most]
    drawn = [Diff(tuple(some[at : at + PIECE]), whole=opened) for at in range(0, len(some), PIECE)]
    return [*drawn, *rest(len(shown) - most)]


def _result(block: Call, *, opened: bool) -> list[Piece]:
    if opened:
        return opened_text(block.output if block.state == "running" else block.result, "dim", above=True)
    match block.state:
        case "running":
            lines = split_lines(block.output)
            return [*rest(len(lines) - RUNNING, "above"), *short_text(lines[-RUNNING:])]
        case "ok":
            return _well(block)
        case "failed" | "denied" | "interrupted" | "not_started":
            return _ill(block)
        case "writing" | "ready" | "waiting" | "lost":
            return []
        case _:
            assert_never(block.state)


def _well(block: Call) -> list[Piece]:
    """Return what is shown of a result that tells of success: the first lines of what was printed, or of a page."""
    if block.edit is not None or (block.effect == "read" and block.name != "fetch"):
        return []
    if block.name == "fetch" and not _FETCHED.match(block.result):
        return opened_text(block.result, "dim")  # it is somewhere else
    lines = split_lines(_FETCHED.sub("", _unremarkable(block.result)))
    return [*short_text(lines[:FIRST]), *rest(len(lines) - FIRST)]


def _ill(block: Call) -> list[Piece]:
    """Return what is shown of a result that tells of no success: its last lines, and what is known of its effect."""
    lines = split_lines(block.result)
    if len(lines) <= FIRST + 1 and len(block.result) <= _SENTENCES:
        return opened_text(block.result, "dim")
    first = lines[:1] if block.state == "interrupted" else ()
    last = lines[len(first) :][-FIRST - 1 :]
    above = len(lines) - len(first) - len(last)
    return [*opened_text("".join(first), "dim"), *rest(above, "above"), *short_text(last)]


def _unremarkable(result: str) -> str:
    """Return a result without what every command that went well ends with."""
    text, _, facts = result.rpartition("\n")
    said = facts.startswith("(exit code 0, ") and facts.endswith(" s)") and ";" not in facts
    return "" if said and text == "(no output)" else text if said else result


def _one_line(text: str) -> str:
    return clean(literal(" ".join(text.split())))


def _mark(state: CallState, look: Look) -> tuple[str, Style]:
    match state:
        case "ok" | "failed" | "denied" | "not_started" | "interrupted":
            return MARKS[state], {"ok": look.ok, "failed": look.failed}.get(state, look.warning)
        case "writing" | "ready":
            return "·", look.dim
        case "waiting" | "lost":
            return {"waiting": "?", "lost": "◌"}[state], look.warning
        case "running":
            return "●", look.running
        case _:
            assert_never(state)
