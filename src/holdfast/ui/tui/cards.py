"""Blocks as pieces: what is shown of each, what only when it is opened, and in how many lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from holdfast.ui.account import MARKS
from holdfast.ui.blocks import Answer, Block, Call, Note, NoteKind, Prompt, Thinking, TurnEnd
from holdfast.ui.tui.call_card import FIRST, call_pieces
from holdfast.ui.tui.lines import Line, Piece, fold
from holdfast.ui.tui.look import Look
from holdfast.ui.tui.markdown import PROSE, Markdown
from holdfast.ui.tui.texts import OPENED, PIECE, Text, Tone, duration, opened_text, rest, split_lines, ticking

FOLDED = 12
"""Lines of a prompt from which on it is folded to its first."""


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
            return call_pieces(block, opened=opened, now=now)
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


def _prompt(text: str, *, opened: bool) -> list[Piece]:
    lines = split_lines(text)
    if opened or len(lines) <= FOLDED:
        return [Words(lines[at : at + FOLDED]) for at in range(0, len(lines), FOLDED)]
    return [Words(lines[: FOLDED // 2]), *rest(len(lines) - FOLDED // 2)]


def _thinking(block: Thinking, *, opened: bool, now: float) -> list[Piece]:
    if block.live:
        said = "thinking" if block.since is None else f"thinking, {ticking(now - block.since)}"
    else:
        said = "thought" if block.seconds is None or block.seconds < 1 else f"thought for {duration(block.seconds)}"
    head = Text((said,), "faint", mark=("✻", "faint"))
    return [head, *opened_text(block.text, "dim")] if opened else [head]


def _note(block: Note, *, opened: bool) -> list[Piece]:
    return [
        *_told(block.text, _NOTES[block.kind], opened=opened),
        *(opened_text(block.detail, "faint") if opened else []),
    ]


def _told(text: str, mark: tuple[str, Tone], *, opened: bool) -> list[Piece]:
    """Return some words of ours, or of somebody whose words we pass on: not all of them if they are many."""
    lines = split_lines(text)
    some = lines[: OPENED if opened else FIRST]
    told = [Text(some[at : at + PIECE], "dim", mark=None if at else mark) for at in range(0, len(some), PIECE)]
    return [*told, *rest(len(lines) - len(some))]


_NOTES: dict[NoteKind, tuple[str, Tone]] = {
    "session": ("·", "faint"),
    "model": ("·", "dim"),
    "retry": ("↻", "warning"),
    "failed": ("✗", "failed"),
    "cut": ("◐", "warning"),
    "late": ("·", "warning"),
    "files": ("·", "warning"),
    "rewound": ("↶", "warning"),
    "context": ("·", "dim"),
    "damage": ("!", "failed"),
    "repaired": ("·", "warning"),
    "trouble": ("!", "failed"),
}
