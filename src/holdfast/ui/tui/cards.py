"""Blocks as pieces: what is shown of each, what only when it is opened, and in how many lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import msgspec
from rich.cells import cell_len
from rich.style import Style

from holdfast.calls import Outcome
from holdfast.text import literal
from holdfast.ui.account import MARKS
from holdfast.ui.blocks import Answer, Block, Call, CallState, Note, NoteKind, Prompt, Thinking, TurnEnd
from holdfast.ui.tui.diff import Change, changes, draw_change
from holdfast.ui.tui.lines import Line, Piece, Run, clean, crop, fold, line
from holdfast.ui.tui.look import Look
from holdfast.ui.tui.markdown import PROSE, Markdown

RUNNING = 8
"""The last lines shown of what a running call prints."""

FIRST = 5
"""The first lines shown of what a call gave, the last of one that failed."""

DIFF = 14
"""Lines shown of an edit."""

OPENED = 2_000
"""Lines shown of anything that is opened; a sentence says how many more there are."""

PIECE = 25
"""Lines drawn together."""

LONGEST = 2_000
"""Characters shown of a line that a tool gave."""

FOLDED = 12
"""Lines of a prompt from which on it is folded to its first."""

_TENTHS = 10  # seconds up to which tenths of them are told

Tone = Literal["text", "dim", "faint", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Text:
    """Lines of plain text in one tone, each folded if `whole`, else cut to one; `mark` hangs before the first."""

    lines: tuple[str, ...]
    tone: Tone
    whole: bool = True
    mark: tuple[str, Tone] | None = None
    above: bool = False

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        long = sum(len(text) for text in self.lines) // max(1, width) if self.whole else 0
        return self.above + len(self.lines) + long

    def draw(self, look: Look, width: int) -> list[Line]:
        """Return its lines."""
        style = _style(self.tone, look)
        drawn = [line(())] if self.above else []
        for text in self.lines:
            drawn += fold([(text, style)], width) if self.whole else [line(crop([(text, style)], width))]
        if self.mark is not None and drawn:
            at = int(self.above)
            drawn[at] = drawn[at]._replace(mark=(self.mark[0], _style(self.mark[1], look)))
        return drawn


@dataclass(frozen=True, slots=True)
class Words:
    """What the person said, beside a bar."""

    lines: tuple[str, ...]

    def guess(self, width: int) -> int:
        """Return about how many lines it has."""
        return len(self.lines) + sum(len(text) for text in self.lines) // max(1, min(width, PROSE))

    def draw(self, look: Look, width: int) -> list[Line]:
        """Return its lines."""
        return [
            folded._replace(strip=folded.strip.extend_cell_length(width, look.prompt), mark=("▌ ", look.bar))
            for text in self.lines
            for folded in fold([(text, look.prompt)], min(width, PROSE))
        ]


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
        said: list[Run] = [(f"  {text}", _style(tone, look)) for text, tone in self.said]
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


def pieces(block: Block, markdown: Markdown, *, opened: bool, now: float) -> list[Piece]:
    """Return what is shown of a block; `markdown` keeps what was split of an answer."""
    match block:
        case Prompt(text=text):
            return _prompt(text, opened=opened)
        case Answer(text=text, state=state):
            cut = Text(("cut off here",), "faint", mark=(MARKS["interrupted"], "warning"))
            return [*markdown.pieces(text), *([cut] if state == "cut" else [])]
        case Thinking():
            return _thinking(block, opened=opened, now=now)
        case Call():
            return _call(block, opened=opened, now=now)
        case Note():
            return _note(block, opened=opened)
        case TurnEnd(text=text, cause=cause):
            tone: Tone = "failed" if cause in ("provider", "storage", "crash", "bug") else "warning"
            return _told(f"Turn ended: {text}", ("■", tone), opened=opened) if text else []
        case _:
            assert_never(block)


def opens(block: Block) -> bool:
    """Return whether there is more of a block than is shown at first."""
    match block:
        case Prompt(text=text):
            return text.count("\n") >= FOLDED
        case Thinking(text=text):
            return bool(text.strip())
        case Call():
            return block.state != "writing"
        case Note(text=text, detail=detail):
            return bool(detail.strip()) or text.count("\n") >= FIRST
        case TurnEnd(text=text):
            return text.count("\n") >= FIRST
        case Answer():
            return False
        case _:
            assert_never(block)


def is_moving(block: Block) -> bool:
    """Return whether a block says how long something has taken so far."""
    return isinstance(block, Thinking | Call) and block.since is not None


def duration(seconds: float) -> str:
    """Return a time as a person would say it: 3.2 s, 48 s, 2 min 5 s, 1 h 12 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {rest} s"
    return f"{seconds:.1f} s" if seconds < _TENTHS else f"{rest} s"


def _prompt(text: str, *, opened: bool) -> list[Piece]:
    lines = _split(text)
    if opened or len(lines) <= FOLDED:
        return [Words(lines[at : at + FOLDED]) for at in range(0, len(lines), FOLDED)]
    return [Words(lines[: FOLDED // 2]), _more(len(lines) - FOLDED // 2)]


def _thinking(block: Thinking, *, opened: bool, now: float) -> list[Piece]:
    if block.live:
        said = "thinking" if block.since is None else f"thinking, {_ticking(now - block.since)}"
    else:
        said = "thought" if block.seconds is None or block.seconds < 1 else f"thought for {duration(block.seconds)}"
    head = Text((said,), "faint", mark=("✻", "faint"))
    return [head, *_opened(block.text, "dim")] if opened else [head]


def _note(block: Note, *, opened: bool) -> list[Piece]:
    return [*_told(block.text, _NOTES[block.kind], opened=opened), *(_opened(block.detail, "faint") if opened else [])]


def _told(text: str, mark: tuple[str, Tone], *, opened: bool) -> list[Piece]:
    """Return some words of ours, or of somebody whose words we pass on: not all of them if they are many."""
    lines = _split(text)
    some = lines[: OPENED if opened else FIRST]
    told = [Text(some[at : at + PIECE], "dim", mark=None if at else mark) for at in range(0, len(some), PIECE)]
    return [*told, *_rest(len(lines) - len(some))]


_NOTES: dict[NoteKind, tuple[str, Tone]] = {
    "session": ("·", "faint"),
    "model": ("·", "dim"),
    "retry": ("↻", "warning"),
    "failed": ("✗", "failed"),
    "cut": ("◐", "warning"),
    "late": ("·", "warning"),
    "files": ("·", "warning"),
    "rewound": ("↶", "warning"),
    "damage": ("!", "failed"),
    "repaired": ("·", "warning"),
    "trouble": ("!", "failed"),
}


def _call(block: Call, *, opened: bool, now: float) -> list[Piece]:
    name, _, title = _one_line(block.title).partition(" ")
    head = Head(block.state, name, title, tuple(_said(block, now)))
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
            return [(_ticking(now - block.since), "faint")] if block.since is not None else []
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
    elif block.effect == "read":
        count = block.result.rstrip("\n").count("\n") + 1
        said.append((f"{count:,} lines" if count != 1 else "1 line", "faint"))
    if block.seconds is not None and block.seconds >= 1:
        said.append((duration(block.seconds), "faint"))
    return said


def _arguments(block: Call) -> list[Piece]:
    """Return the arguments in full, literally, unless the head or the diff shows them."""
    if block.edit is not None:
        return []
    return _opened(literal(_in_words(block.arguments)), "text")


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
    return [*drawn, *_rest(len(shown) - most)]


def _result(block: Call, *, opened: bool) -> list[Piece]:
    if opened:
        return _opened(block.output if block.state == "running" else block.result, "dim", above=True)
    match block.state:
        case "running":
            lines = _split(block.output)
            return [*_rest(len(lines) - RUNNING, "above"), *_short(lines[-RUNNING:])]
        case "ok":
            if block.effect == "read" or block.edit is not None:
                return []
            lines = _split(_unremarkable(block.result))
            return [*_short(lines[:FIRST]), *_rest(len(lines) - FIRST)]
        case "failed" | "denied" | "interrupted" | "not_started":
            lines = _split(block.result)
            return [*_rest(len(lines) - FIRST - 1, "above"), *_short(lines[-FIRST - 1 :])]
        case "writing" | "ready" | "waiting" | "lost":
            return []
        case _:
            assert_never(block.state)


def _unremarkable(result: str) -> str:
    """Return a result without what every command that went well ends with."""
    text, _, facts = result.rpartition("\n")
    said = facts.startswith("(exit code 0, ") and facts.endswith(" s)") and ";" not in facts
    return "" if said and text == "(no output)" else text if said else result


def _opened(text: str, tone: Tone, *, above: bool = False) -> list[Piece]:
    """Return a long text as pieces, up to where a sentence says how much more there is."""
    lines = _split(text)
    most = lines[:OPENED]
    some = [Text(most[at : at + PIECE], tone, above=above and not at) for at in range(0, len(most), PIECE)]
    return [*some, *_rest(len(lines) - OPENED)]


def _short(lines: Sequence[str]) -> list[Piece]:
    return [Text(tuple(lines), "dim", whole=False)] if lines else []


def _rest(count: int, where: Literal["more", "above"] = "more") -> list[Piece]:
    return [_more(count, where)] if count > 0 else []


def _more(count: int, where: Literal["more", "above"] = "more") -> Piece:
    lines = "line" if count == 1 else "lines"
    return Text((f"… {count:,} more {lines}" if where == "more" else f"… {count:,} {lines} above",), "faint")


def _split(text: str) -> tuple[str, ...]:
    """Return the lines of a text as they may be shown, none of one that says nothing."""
    if not text.strip():
        return ()
    return tuple(
        plain if len(plain) <= LONGEST else f"{plain[:LONGEST]} [… {len(plain) - LONGEST:,} more characters]"
        for plain in clean(text.rstrip("\n")).split("\n")
    )


def _one_line(text: str) -> str:
    return clean(literal(" ".join(text.split())))


def _ticking(seconds: float) -> str:
    return duration(max(0, int(seconds))).replace(".0", "")


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


def _style(tone: Tone, look: Look) -> Style:
    return {
        "text": look.text,
        "dim": look.dim,
        "faint": look.faint,
        "warning": look.warning,
        "failed": look.failed,
    }[tone]
