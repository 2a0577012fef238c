"""Blocks as pieces: what is shown of each, collapsed and expanded."""

from __future__ import annotations

from typing import assert_never

import msgspec

from holdfast.ui.tui.render.call_renderer import FIRST, call_pieces
from holdfast.ui.tui.render.lines import DrawnLine, Fragment, fold_runs
from holdfast.ui.tui.render.markdown import PROSE, Markdown
from holdfast.ui.tui.render.plain_text import (
    OPENED,
    PIECE,
    Text,
    Tone,
    duration_text,
    opened_text,
    rest,
    split_lines,
    ticking,
)
from holdfast.ui.tui.render.styles import Styles
from holdfast.ui.view.blocks import AnswerBlock, Block, CallBlock, Note, Prompt, Thinking, TurnEnd
from holdfast.ui.view.sentences import MARKS, NoteKind

FOLDED = 12
"""A prompt of at least so many lines is collapsed to its first and last ones."""

HEAD, TAIL = 4, 2
"""How many of each."""

THOUGHTS = 6
"""Last lines of the model's thinking to show while it thinks, if they are shown."""

_LATEST = 4_000  # characters of it that may be among those lines


class Words(msgspec.Struct, frozen=True):
    """A prompt of the user, with a bar at its left."""

    lines: tuple[str, ...]

    def guess(self, width: int) -> int:
        """Return the approximate number of lines."""
        return len(self.lines) + sum(len(text) for text in self.lines) // max(1, min(width, PROSE))

    def draw(self, look: Styles, width: int) -> list[DrawnLine]:
        """Return its lines."""
        return [
            folded._replace(strip=folded.strip.extend_cell_length(width, look.prompt), mark=("▌ ", look.bar))
            for text in self.lines
            for folded in fold_runs([(text, look.prompt)], min(width, PROSE))
        ]


def render_block(
    block: Block, markdown: Markdown, *, opened: bool, now: float, thoughts: bool = False
) -> list[Fragment]:
    """Return the pieces of a block; `markdown` caches the split of an answer, `thoughts` shows thinking as it comes."""
    match block:
        case Prompt():
            return _prompt(block, opened=opened)
        case AnswerBlock(text=text, state=state):
            cut = Text(("cut off here",), "faint", mark=(MARKS["interrupted"], "warning"))
            return [*markdown.pieces(text), *([cut] if state == "cut" else [])]
        case Thinking():
            return _thinking(block, opened=opened, now=now, thoughts=thoughts)
        case CallBlock():
            return call_pieces(block, opened=opened, now=now)
        case Note():
            return _note(block, opened=opened)
        case TurnEnd(text=text, cause=cause):
            tone: Tone = "failed" if cause in ("provider", "storage", "crash", "bug") else "warning"
            return _told(text, ("■", tone), opened=opened) if text else []
        case _:
            assert_never(block)


def opens(block: Block) -> bool:
    """Return whether expanding the block shows more."""
    match block:
        case Prompt(text=text, shown=shown):
            return text.count("\n") >= FOLDED or shown not in ("", text)
        case Thinking(text=text):
            return bool(text.strip())
        case CallBlock():
            return block.state != "writing"
        case Note(text=text, detail=detail):
            return bool(detail.strip()) or text.count("\n") >= FIRST
        case TurnEnd(text=text):
            return text.count("\n") >= FIRST
        case AnswerBlock():
            return False
        case _:
            assert_never(block)


def is_moving(block: Block) -> bool:
    """Return whether the block shows an elapsed time."""
    return isinstance(block, Thinking | CallBlock) and block.since is not None


def _prompt(block: Prompt, *, opened: bool) -> list[Fragment]:
    """Return the pieces of a prompt: of a long one the beginning and the end, where a question may stand."""
    lines = split_lines(block.text if opened else block.shown or block.text)
    if opened or len(lines) <= FOLDED:
        return [Words(lines[at : at + FOLDED]) for at in range(0, len(lines), FOLDED)]
    return [Words(lines[:HEAD]), *rest(len(lines) - HEAD - TAIL), Words(lines[-TAIL:])]


def _thinking(block: Thinking, *, opened: bool, now: float, thoughts: bool) -> list[Fragment]:
    """Return the pieces of the model's thinking: while it thinks, its last lines if they are wanted."""
    if block.live:
        said = "thinking" if block.since is None else f"thinking, {ticking(now - block.since)}"
    else:
        said = (
            "thought" if block.seconds is None or block.seconds < 1 else f"thought for {duration_text(block.seconds)}"
        )
    head = Text((said,), "faint", mark=("✻", "faint"))
    if opened:
        return [head, *opened_text(block.text, "dim")]
    if not block.live or not thoughts:
        return [head]
    lines = split_lines(block.text[-_LATEST:])
    return [head, Text(lines[-THOUGHTS:], "dim")] if lines else [head]


def _note(block: Note, *, opened: bool) -> list[Fragment]:
    return [
        *_told(block.text, _NOTES[block.kind], opened=opened),
        *(opened_text(block.detail, "faint") if opened else []),
    ]


def _told(text: str, mark: tuple[str, Tone], *, opened: bool) -> list[Fragment]:
    """Return the pieces of a note from holdfast or a provider, shortened if it is long."""
    lines = split_lines(text)
    some = lines[: OPENED if opened else FIRST]
    told = [Text(some[at : at + PIECE], "dim", mark=None if at else mark) for at in range(0, len(some), PIECE)]
    return [*told, *rest(len(lines) - len(some), opens=not opened)]


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
    "task": ("·", "dim"),
    "damage": ("!", "failed"),
    "repaired": ("·", "warning"),
    "trouble": ("!", "failed"),
}
