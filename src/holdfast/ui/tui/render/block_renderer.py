"""Renders blocks as fragments, collapsed or expanded."""

from __future__ import annotations

from typing import assert_never

import msgspec

from holdfast.ui.tui.render.call_renderer import FIRST, call_fragments
from holdfast.ui.tui.render.lines import DrawnLine, Fragment, fold_runs
from holdfast.ui.tui.render.markdown import PROSE, Markdown
from holdfast.ui.tui.render.plain_text import (
    OPENED,
    PIECE,
    Text,
    Tone,
    duration_text,
    missing_lines_note,
    opened_text,
    running_time,
    split_lines,
)
from holdfast.ui.tui.render.styles import Styles
from holdfast.ui.view.blocks import AnswerBlock, Block, CallBlock, Note, Thinking, TurnEnd, UserBlock
from holdfast.ui.view.sentences import MARKS, NoteKind

FOLDED = 12
"""A prompt with more lines is collapsed to its first and last ones."""

HEAD, TAIL = 4, 2
"""The numbers of first and last lines."""

THOUGHTS = 6
"""Last lines of the model's thinking to show while it thinks, if they are shown."""

_LATEST = 4_000  # last characters of the thinking that are split into lines


class PromptLines(msgspec.Struct, frozen=True):
    """A prompt of the user, with a bar at its left."""

    lines: tuple[str, ...]

    def guess(self, width: int) -> int:
        """Return the approximate number of lines."""
        return len(self.lines) + sum(len(text) for text in self.lines) // max(1, min(width, PROSE))

    def draw(self, styles: Styles, width: int) -> list[DrawnLine]:
        """Return its lines."""
        return [
            folded._replace(strip=folded.strip.extend_cell_length(width, styles.prompt), mark=("▌ ", styles.bar))
            for text in self.lines
            for folded in fold_runs([(text, styles.prompt)], min(width, PROSE))
        ]


def render_block(
    block: Block, markdown: Markdown, *, opened: bool, now: float, thoughts: bool = False
) -> list[Fragment]:
    """Return the fragments of a block; `markdown` caches the split of an answer, `thoughts` shows live thinking."""
    match block:
        case UserBlock():
            return _prompt(block, opened=opened)
        case AnswerBlock(text=text, state=state):
            cut = Text(("cut off here",), "faint", mark=(MARKS["interrupted"], "warning"))
            return [*markdown.fragments(text), *([cut] if state == "cut" else [])]
        case Thinking():
            return _thinking(block, opened=opened, now=now, thoughts=thoughts)
        case CallBlock():
            return call_fragments(block, opened=opened, now=now)
        case Note():
            return _note(block, opened=opened)
        case TurnEnd(text=text, reason=reason):
            tone: Tone = "failed" if reason == "error" else "warning"
            return _note_fragments(text, ("■", tone), opened=opened) if text else []
        case _:
            assert_never(block)


def can_expand(block: Block) -> bool:
    """Return whether expanding the block shows more."""
    match block:
        case UserBlock(text=text, shown=shown):
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


def _prompt(block: UserBlock, *, opened: bool) -> list[Fragment]:
    """Return the fragments of a prompt: of a long one the beginning and the end, where the question may be."""
    lines = split_lines(block.text if opened else block.shown or block.text)
    if opened or len(lines) <= FOLDED:
        return [PromptLines(lines[at : at + FOLDED]) for at in range(0, len(lines), FOLDED)]
    return [PromptLines(lines[:HEAD]), *missing_lines_note(len(lines) - HEAD - TAIL), PromptLines(lines[-TAIL:])]


def _thinking(block: Thinking, *, opened: bool, now: float, thoughts: bool) -> list[Fragment]:
    """Return the fragments of the model's thinking: while it thinks, the last lines if `thoughts`."""
    if block.live:
        label = "thinking" if block.since is None else f"thinking, {running_time(now - block.since)}"
    else:
        label = (
            "thought" if block.seconds is None or block.seconds < 1 else f"thought for {duration_text(block.seconds)}"
        )
    head = Text((label,), "faint", mark=("✻", "faint"))
    if opened:
        return [head, *opened_text(block.text, "dim")]
    if not block.live or not thoughts:
        return [head]
    lines = split_lines(block.text[-_LATEST:])
    return [head, Text(lines[-THOUGHTS:], "dim")] if lines else [head]


def _note(block: Note, *, opened: bool) -> list[Fragment]:
    return [
        *_note_fragments(block.text, _NOTES[block.kind], opened=opened),
        *(opened_text(block.detail, "faint") if opened else []),
    ]


def _note_fragments(text: str, mark: tuple[str, Tone], *, opened: bool) -> list[Fragment]:
    """Return the fragments of a note from holdfast or a provider, shortened if it is long."""
    lines = split_lines(text)
    some = lines[: OPENED if opened else FIRST]
    shown = [Text(some[at : at + PIECE], "dim", mark=None if at else mark) for at in range(0, len(some), PIECE)]
    return [*shown, *missing_lines_note(len(lines) - len(some), opens=not opened)]


_NOTES: dict[NoteKind, tuple[str, Tone]] = {
    "session": ("·", "faint"),
    "model": ("·", "dim"),
    "retry": ("↻", "warning"),
    "failed": ("✗", "failed"),
    "cut": ("◐", "warning"),
    "late": ("·", "warning"),
    "files": ("·", "warning"),
    "receipt": ("·", "dim"),
    "rewound": ("↶", "warning"),
    "context": ("·", "dim"),
    "server": ("!", "warning"),
    "task": ("·", "dim"),
    "hook": ("↳", "warning"),
    "damage": ("!", "failed"),
    "repaired": ("·", "warning"),
    "trouble": ("!", "failed"),
}
