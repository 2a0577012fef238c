"""vim's visual mode: the selection, and what a key does to it. Pure.

A selection has a fixed end and a moving end, and contains the characters at both; the moving end may be on the newline
of its line, which is then selected too. In visual line mode, full lines are selected.
"""

from __future__ import annotations

import msgspec

from holdfast.ui.tui.keys.vim_motions import line_ends, motion

_TO_NEWLINE = frozenset({"l", "right", " "})
_VERTICAL = frozenset({"j", "k", "down", "up"})


class Register(msgspec.Struct, frozen=True):
    """The text deleted or copied last: characters, or full lines, without the final newline."""

    text: str
    lines: bool

    def times(self, count: int) -> str:
        """Return the text `count` times."""
        return "\n".join([self.text] * count) if self.lines else self.text * count


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """The selection: from the `anchor`, its fixed end, to the cursor; with `lines`, all of their lines.

    `column` is the one that `j` and `k` keep, None for the cursor's.
    """

    anchor: int
    cursor: int
    lines: bool
    column: int | None = None

    def span(self, text: str) -> tuple[int, int]:
        """Return where the selected characters begin, and where they end."""
        first, last = sorted((self.anchor, self.cursor))
        if self.lines:
            return line_ends(text, first)[0], line_ends(text, last)[1]
        return first, min(len(text), last + 1)


def moved_selection(selected: Selected, name: str, count: int | None, text: str, found: str) -> Selected:
    """Return the selection after a motion; `found` is the last find, for `;` and `,`."""
    cursor = selected.cursor
    moved = motion(name, count, text, cursor, found=found, operator=name in _TO_NEWLINE, column=selected.column)
    if moved is None:
        return selected
    to, column = moved.to, None
    if name in ("$", "end"):
        to, column = line_ends(text, to)[1], len(text)
    elif name in _VERTICAL:
        column = cursor - line_ends(text, cursor)[0] if selected.column is None else selected.column
        start, end = line_ends(text, to)
        to = min(end, start + column)
    return msgspec.structs.replace(selected, cursor=to, column=column)


def put_over(selected: Selected, register: Register, times: int, text: str) -> tuple[str, int]:
    """Return the text with the selection replaced by the register, and the cursor."""
    begin, end = selected.span(text)
    put = msgspec.structs.replace(register, lines=register.lines or selected.lines).times(times)
    if register.lines and not selected.lines:
        new, at = f"{text[:begin]}\n{put}\n{text[end:]}", begin + 1
    else:
        new, at = text[:begin] + put + text[end:], begin
    if register.lines or selected.lines:
        line = new[at : line_ends(new, at)[1]]
        blank = len(line) - len(line.lstrip(" \t"))
        return new, at + min(blank, max(0, len(line) - 1))
    return new, at if "\n" in put else at + max(0, len(put) - 1)
